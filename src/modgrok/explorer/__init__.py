"""The laboratory in a browser: `modgrok explore` serves a page on this machine, and two child processes compute for it.

    serving     the verb: a socket, the server, the browser
    server      the routes, each a question to a child or a job for the other
    guard       who may ask: this machine, this page, with its token; sizes of what is sent
    words       what requests may bring: names, types, lengths and characters, for every route in one place
    events      what happens, as one stream a page can resume
    workers     a child process, what it is asked and what it answers; started again when it dies
    jobs        the queue of long work: trainings, probes, items of the paper
    child       what runs in a child: read a question, answer it
    asking      what a question brings
    functions, network_answers, run_answers, censuses, papers, settings
                the questions, each a verb called and its JSON form
    tasks       the long work, which tells how far it is

The server's own process does not import JAX: it starts at once, and never waits for a computation.
"""
