// The engine in a worker: the page stays quick, and the newest question wins.

// A run that takes longer is given up when there is a newer question; a shorter one may finish and be drawn.
const PATIENCE_MS = 400;

const text = (id) => document.getElementById(id).textContent;

async function compiled() {
  const packed = Uint8Array.from(atob(text("engine")), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

// The head of an answer, whose series become arrays by table and column.
function read(answer) {
  const length = new DataView(answer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(answer, 4, length)));
  if (head.run) {
    const tables = { series: {}, linkSeries: {} };
    for (const { table, column, start, length: rows } of head.run.series) {
      tables[table][column] = new Float64Array(answer, 4 + length + 8 * start, rows);
    }
    head.run.series = tables;
  }
  return head;
}

export class Engine {
  #module = null;
  #worker = null;
  #asked = null; // What the worker is at, and since when.
  #waiting = null;

  async start() {
    this.#module = await compiled();
    this.#hire();
  }

  // Calls `then(answer, isNewest, milliseconds)`, unless a newer question takes the place of this one.
  ask(question, then) {
    this.#waiting = { question: JSON.stringify(question), then };
    this.#next();
    this.#giveUp();
  }

  #hire() {
    const url = URL.createObjectURL(new Blob([text("worker")], { type: "text/javascript" }));
    const worker = new Worker(url);
    URL.revokeObjectURL(url);
    worker.postMessage(this.#module);
    // One that was given up may have answered already.
    worker.onmessage = ({ data }) => {
      if (worker === this.#worker) this.#answered(data);
    };
    this.#worker = worker;
  }

  #next() {
    if (this.#asked || !this.#waiting) return;
    this.#asked = { ...this.#waiting, since: performance.now() };
    this.#waiting = null;
    this.#worker.postMessage(this.#asked.question);
  }

  #giveUp() {
    if (!this.#asked || !this.#waiting) return;
    const left = this.#asked.since + PATIENCE_MS - performance.now();
    if (left > 0) {
      setTimeout(() => this.#giveUp(), left);
      return;
    }
    this.#replace();
    this.#next();
  }

  #replace() {
    this.#worker.terminate();
    this.#asked = null;
    this.#hire();
  }

  #answered(data) {
    const { then, since } = this.#asked;
    const took = performance.now() - since;
    const isNewest = !this.#waiting;
    if (typeof data === "string") {
      this.#replace();
      const said = `The engine stopped in this experiment (${data}). dumbbell run may say more.`;
      then({ toml: null, form: null, errors: [{ line: null, text: said }], run: null }, isNewest, took);
    } else {
      this.#asked = null;
      then(read(data), isNewest, took);
    }
    this.#next();
  }
}
