"""The data set's metadata for machines: Croissant 1.0 with its fields for responsible use, as JSON-LD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow.types import is_floating, is_integer, is_list

from studies.dataset_card import LICENCE_URL, NAME, TAGS, TITLE, VERSION, faults
from studies.dataset_columns import COLUMNS, Configuration

CREATOR, URL = "The modgrok developers", "https://github.com/modgrok/modgrok"


def croissant(found: Sequence[Configuration], sums: Mapping[str, str]) -> dict[str, Any]:
    """The metadata as JSON-LD: files, records with their fields, and what responsible use has to know."""
    censuses, tables = found[:-1], found[-1].rows
    dates = sorted(one.date[:10] for each in censuses for one in each.made if one.date)
    networks = sum(each.networks for each in censuses)
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": NAME,
        "description": f"{TITLE}: {networks:,} trainings on {len(tables):,} tables.",
        "url": URL,
        "license": LICENCE_URL,
        "version": VERSION,
        "creator": {"@type": "sc:Organization", "name": CREATOR},
        "datePublished": dates[-1] if dates else None,
        "keywords": list(TAGS),
        "citeAs": f"{CREATOR}: {TITLE}. Data set, version {VERSION}.",
        "isLiveDataset": False,
        "rai:dataCollection": "Computed: networks were trained by the plans benchmarks/census/*.toml of modgrok.",
        "rai:dataCollectionType": ["Software Collection", "Experiments"],
        "rai:dataCollectionTimeframe": dates[:1] + dates[-1:],
        "rai:dataCollectionMissingData": "Null where a number does not exist: no test cells, no expression, no order "
        "in which weights could be waves.",
        "rai:dataCollectionRawData": "Rows as the trainings gave them; weights were not kept.",
        "rai:dataPreprocessingProtocol": ["Columns without any value are left out; nothing else is changed."],
        "rai:dataAnnotationProtocol": ["Verdicts and complexities of tables are computed by modgrok, without people."],
        "rai:machineAnnotationTools": ["modgrok census annotate"],
        "rai:dataBiases": [
            "Families of tables and shares of training cells were chosen by hand; they are no sample of any population."
        ],
        "rai:dataLimitations": list(faults(censuses, tables)),
        "rai:dataUseCases": [
            "Laws of what is learned from how much data; predicting generalisation from a table or a training loss."
        ],
        "rai:dataSocialImpact": "None is known: modular arithmetic by small networks.",
        "rai:personalSensitiveInformation": ["None."],
        "rai:dataReleaseMaintenancePlan": "Built anew by modgrok dataset build when a census is added; version raised.",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": each.path,
                "name": each.name,
                "description": each.text,
                "contentUrl": each.path,
                "encodingFormat": "application/x-parquet",
                "sha256": sums[each.path],
            }
            for each in found
        ],
        "recordSet": [record_set(each) for each in found],
    }


def record_set(each: Configuration) -> dict[str, Any]:
    key = ("network", "steps") if each.networks else ("table_id",)
    return {
        "@type": "cr:RecordSet",
        "@id": each.name,
        "name": each.name,
        "description": each.text,
        "key": [{"@id": f"{each.name}/{name}"} for name in key],
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{each.name}/{field.name}",
                "name": field.name,
                "description": f"{COLUMNS[field.name].text} (unit: {COLUMNS[field.name].unit})",
                "dataType": data_type(field.type),
                "source": {"fileObject": {"@id": each.path}, "extract": {"column": field.name}},
            }
            | ({"repeated": True} if is_list(field.type) else {})
            | (
                {"references": {"field": {"@id": "tables/table_id"}}}
                if each.networks and field.name == "table_id"
                else {}
            )
            for field in each.rows.schema
        ],
    }


def data_type(kind: pa.DataType) -> str:
    if is_list(kind):
        return data_type(kind.value_type)
    return "sc:Integer" if is_integer(kind) else "sc:Float" if is_floating(kind) else "sc:Text"


CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The names of Croissant 1.0, as its specification gives them."""
