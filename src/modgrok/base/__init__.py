"""The base: errors, results, printing, files, stores, locks, signs of life, the cache of programs, workers."""
