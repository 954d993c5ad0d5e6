// One stream of events for the whole page; the browser resumes it by the last event's number.

const NAMES = ["hello", "reset", "queue", "begin", "point", "table", "neurons", "end", "progress", "answer", "worker"];

export class Events {
  constructor() {
    this.listeners = new Map();
    this.source = null;
  }

  /** Call `listener(data)` for every event of that name; the stream is opened by the first. */
  on(name, listener) {
    if (!this.listeners.has(name)) this.listeners.set(name, new Set());
    this.listeners.get(name).add(listener);
    this.open();
    return () => this.listeners.get(name).delete(listener);
  }

  open() {
    if (this.source) return;
    this.source = new EventSource("/api/events");
    for (const name of NAMES) this.source.addEventListener(name, (event) => this.tell(name, JSON.parse(event.data)));
    this.source.onerror = () => {
      // A stream that was refused is not opened again by the browser; one that broke off is.
      if (this.source.readyState !== EventSource.CLOSED) return;
      this.source = null;
      setTimeout(() => this.open(), 2000);
    };
  }

  tell(name, data) { for (const listener of this.listeners.get(name) || []) listener(data); }

  /** The result of a job that was begun by a POST, with its progress on the way. */
  job(job, onprogress) {
    return new Promise((resolve, reject) => {
      const leave = [
        this.on("progress", (data) => { if (data.job === job) onprogress?.(data); }),
        this.on("answer", (data) => {
          if (data.job !== job) return;
          leave.forEach((stop) => stop());
          if (data.error) reject(new Error(data.error)); else resolve(data.result);
        }),
      ];
    });
  }
}
