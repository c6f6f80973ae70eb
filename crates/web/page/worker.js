// Answers one question after the other with the engine. The first message is the compiled engine.

let started = null;

onmessage = async ({ data }) => {
  if (data instanceof WebAssembly.Module) {
    started = WebAssembly.instantiate(data);
    return;
  }
  try {
    const { exports } = await started;
    const question = new TextEncoder().encode(data);
    const place = exports.question(question.length);
    new Uint8Array(exports.memory.buffer, place, question.length).set(question);
    const length = exports.answer();
    const answer = exports.memory.buffer.slice(exports.answer_place(), exports.answer_place() + length);
    postMessage(answer, [answer]);
  } catch (error) {
    postMessage(String(error));
  }
};
