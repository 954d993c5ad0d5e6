# modgrok's explorer in a container, for oneself or as a public demo; docs/container.md has the lines that run it.
#
# The base is named by its tag, since no digest of it could be verified where this was written. For a build that is the
# same every time, give the one that you trust: --build-arg BASE=debian@sha256:…
ARG BASE=debian:trixie-slim

FROM ${BASE} AS python
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*

# What is installed is checked by the hashes of the lock file. What only builds, and what the explorer does not use
# (DuckDB asks censuses, onnxruntime runs what strangers send as .onnx), stays behind. The root file system is
# read-only later, so bytecode is written now.
FROM python AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv
WORKDIR /build
COPY requirements.lock ./
RUN python3 -m venv /opt/modgrok \
 && /opt/modgrok/bin/pip install --no-cache-dir --no-compile --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/modgrok/bin/pip install --no-cache-dir --no-compile --no-index --no-deps --no-build-isolation . \
 && /opt/modgrok/bin/pip uninstall --yes duckdb onnxruntime editables hatch-fancy-pypi-readme hatchling pathspec pluggy tomlkit trove-classifiers \
 && /opt/modgrok/bin/pip uninstall --yes pip \
 && find /opt/modgrok/lib -type d -name tests -prune -exec rm -rf {} + \
 && /opt/modgrok/bin/python -m compileall -q /opt/modgrok/lib

FROM python
COPY --from=build /opt/modgrok /opt/modgrok
ENV PATH=/opt/modgrok/bin:$PATH HOME=/tmp MPLCONFIGDIR=/tmp/matplotlib PYTHONUNBUFFERED=1
WORKDIR /tmp
USER 65532:65532
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8765/healthz', timeout=8)"]
ENTRYPOINT ["modgrok"]
CMD ["explore", "--public", "--no-open", "--host", "0.0.0.0", "--port", "8765"]
