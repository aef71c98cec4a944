// The thread of a Node session that watches for signals: see `node_driver.js`.

/// The thread that watches for signals.
function watch() {
  const { parentPort, workerData: cell } = require('worker_threads');
  const [STATE, SIGNAL, ENDING] = [0, 2, 1];
  const vm = require('vm');
  Object.assign(globalThis, { cell, limit: Infinity });
  const wait = new vm.Script('Atomics.wait(cell, 1, 0, limit)');
  let signals = 0;
  let session = null;
  let ends = false;
  const loop = () => {
    for (;;) {
      try {
        wait.runInThisContext({ breakOnSigint: true });
      } catch {
        limit = 250;
        parentPort.postMessage(++signals);
        continue;
      }
      if (!ends && Atomics.load(cell, SIGNAL) >= signals) limit = Infinity;
      else if (!ends) end();
      // An answer needs a turn of the event loop.
      if (ends) return setImmediate(loop);
    }
  };
  const end = () => {
    [ends, limit] = [true, 10];
    Atomics.store(cell, STATE, ENDING);
    if (!session) {
      session = new (require('inspector').Session)();
      session.connectToMainThread();
    }
    session.post('Runtime.terminateExecution', () => {
      [ends, limit] = [false, Infinity];
      // Node's exit waits for a connected session.
      session.disconnect();
      session = null;
      parentPort.postMessage(-signals);
    });
  };
  parentPort.on('message', () => {});
  parentPort.postMessage(0);
  loop();
}
