"""Many trainings: a plan gives parts, an executor trains them, a store keeps their rows.

    part        networks of one compiled program that train side by side (`part.Part`): the steps at which they are
                measured, their `ensemble()` (shape, rates, tables, orders of residues) and, once they are trained, the
                `rows(metrics)` of a table. `train_part` is a pure function from a part to its rows.
    executor    who trains parts, one of `workers`: this thread, threads of this process that compile ahead
                (`executors.LocalWorkers`), or others at an address (`elsewhere.workers_at(address, train_part)`), such
                as a Ray cluster (`ray_workers`); `elsewhere.EXECUTORS` lists those. A job of an array takes
                `part.slice_of(parts, "K/N")` and any of these.
    store       rows in a folder of Parquet files that are whole or absent, or in memory (`row_store.RowStore`): what is
                there is not trained again, what is damaged is set aside, and a column of a later version is null.
    engine      `engine.train_parts(parts, todo, store, workers)` gives out what is to do, keeps what comes back, and
                reports it; where it is killed has no influence on the rows.

A sweep (`sweep_plan`, `sweeps`, `sweep_result`) and a census (`modgrok.censuses`) are plans and questions on top:

    store = SomeStore(folder, planned=len(networks))     # a RowStore with a schema
    todo = store.unfinished(parts)
    with closing(LocalWorkers(todo) if ray is None else workers_at(ray, train_part)) as workers:
        train_parts(parts, todo, store, workers, time_limit=3600, on_part=print)
    store.rows()
"""
