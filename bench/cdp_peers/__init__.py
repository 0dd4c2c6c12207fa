"""One small client per library, all doing the work of `workload` and printing one JSON object. See `bench.cdp_clients`.

Each script runs under the interpreter of its own library, so none of them imports anything of the gateway but `ours`.
"""
