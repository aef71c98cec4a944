// Runs inside the Node of a session. Frames arrive on a separate descriptor, so that standard input belongs to the program: a
// line "KIND LENGTH [[PATH] NUMBER]", then LENGTH bytes. After each frame a marker is written to standard output and standard
// error: output before it belongs to that frame.
//
// An interrupt is a SIGINT. Node can watch for it only while a script runs (`breakOnSigint`), and its default action would
// end the process in between. So a thread runs such a script all the time. While code of the session runs synchronously, the
// signal ends it. Otherwise the thread gets it and reports it: then the `await` that the code waits in fails. If the report
// is not read, because code computes after an `await` or in a timer, the thread ends that as a debugger does.

// Code may change the globals.
const { Atomics, Buffer, Error, Int32Array, JSON, Map, Math, Number, Object, Promise, Set, String, process, setImmediate } = globalThis;
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 12)) {
  process.stderr.write(`This profile needs Node 20.12 or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}
const fs = require('fs');
const net = require('net');
const path = require('path');
const util = require('util');
const { Worker } = require('worker_threads');

// Length limits in characters, as in the other drivers: of a value reported separately from the output, of an exception.
const LONG = 10000;
const EXCEPTION = 4000;
// The fields of the memory shared with the thread: whether it is ending what computes, one to wait for, the last signal read.
const STATE = 0;
const SIGNAL = 2;
const [RESTING, ENDING] = [0, 1];

class Interrupt extends Error {
  name = 'Interrupt';
}

const isInterrupt = (error) => error instanceof Interrupt || error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED';

const cell = new Int32Array(new SharedArrayBuffer(12));
const copies = [1, 2].map((number) => fs.openSync(`/dev/fd/${number}`, 'w'));
let count = 0;
let frames = Buffer.alloc(0);
let current = null;
let last;
const root = process.cwd();
// The project's files that were loaded, with their versions.
const loaded = new Map();
// Whether the project is one of TypeScript, whose syntax is also valid JavaScript now and then.
const isTypeScript = fs.existsSync('tsconfig.json');
// Code that Node cannot parse is probably TypeScript if it has this.
const TYPES = /^\s*(export\s+)?(interface|type|enum|declare|namespace)\s+\w|\w\??\s*:\s*(string|number|boolean|unknown|any|void)\b/m;

// Standard input: the pipe of the session, and the file that was given to the running evaluation.
const pipe = fs.openSync('/dev/fd/0', 'r');
let given = false;
let streams = {};

function stdin() {
  const kind = given ? 'file' : 'pipe';
  if (!streams[kind] || streams[kind].destroyed || streams[kind].readableEnded) {
    streams[kind] = given ? new fs.ReadStream(null, { fd: 0, fs: { ...fs, close: (_, done) => done(null) } }) : socket();
  }
  return streams[kind];
}

function socket() {
  const { O_RDONLY, O_NONBLOCK } = fs.constants;
  const fd = fs.openSync(`/dev/fd/${pipe}`, O_RDONLY | O_NONBLOCK);
  const stream = new net.Socket({ fd, readable: true, writable: false, manualStart: true });
  stream.fd = 0;
  // As Node does it for its own: a paused stream leaves the input to others.
  const pause = () => {
    if (stream._handle?.reading && !stream.readableFlowing) {
      stream._handle.reading = false;
      stream._handle.readStop();
    }
  };
  return stream.on('pause', () => process.nextTick(pause));
}

/// Replaces descriptor 0, which is the lowest free one once it is closed.
function open(path) {
  try {
    fs.closeSync(0);
  } catch {
    // The program has closed it.
  }
  try {
    fs.openSync(path, 'r');
  } catch {
    // An interrupt that came first had the file removed.
    fs.openSync('/dev/null', 'r');
  }
}

/// Restores standard input and returns what the marker says about unread bytes of the file.
function takeBack() {
  if (!given) return '';
  let unread = 0;
  try {
    const position = /^pos:\s*(\d+)/.exec(fs.readFileSync('/proc/self/fdinfo/0', 'utf8'))[1];
    unread = Math.max(0, fs.fstatSync(0).size - position) + (streams.file?.readableLength ?? 0);
  } catch {
    // The program has closed it.
  }
  streams.file?.destroy();
  given = false;
  delete streams.file;
  open(`/dev/fd/${pipe}`);
  return `+${unread}`;
}

function write(number, chunk) {
  const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  for (let at = 0; at < bytes.length; ) at += fs.writeSync(number, bytes, at);
}

function mark(report) {
  count += 1;
  write(copies[0], `${nonce} ${count} ${JSON.stringify(report)}\n`);
  write(copies[1], `${nonce} ${count} ${takeBack()}\n`);
}

/// Makes a stream write at once. An interrupt then leaves no half-written state, and the marker comes after all output.
function direct(stream, copy) {
  stream.write = (chunk, encoding, done) => {
    write(copy, typeof chunk === 'string' && typeof encoding === 'string' ? Buffer.from(chunk, encoding) : chunk);
    const call = typeof encoding === 'function' ? encoding : done;
    if (typeof call === 'function') process.nextTick(call);
    return true;
  };
}

const cut = (text, length = EXCEPTION) => String(text).slice(0, length).toWellFormed();

/// Returns an error as Node prints it, without the frames of Node and of this driver.
function explain(error) {
  let text;
  try {
    text = util.inspect(error);
  } catch {
    text = 'an exception that cannot be shown';
  }
  const frame = /\n\s+(at (.*\()?(async )?(node:|hob:).*?|\.\.\. \d+ lines matching cause.*?)(?= \{\n|\n|$)/g;
  // An error without a frame is in brackets.
  return text.replace(frame, '').replace(/^\[([^\n]*)\]$/, '$1').trimEnd();
}

/// Returns the first line of an error.
function headline(error) {
  const text = util.types.isNativeError(error) ? `${error.name}: ${error.message}` : `Uncaught ${explain(error)}`;
  return cut(text.split('\n')[0]);
}

/// Calls a function of ours that calls the session's code. An interrupt ends it.
let task = null;
const caller = new vm.Script('__hob.call()', { filename: 'hob:call' });
function watched(call) {
  task = call;
  return caller.runInThisContext({ breakOnSigint: true, displayErrors: false });
}

/// Returns the options that show a text whole.
const whole = (value) => (typeof value === 'string' ? { maxStringLength: null } : {});

/// Returns the name of a value's class or type.
function kind(value) {
  try {
    return value === null ? 'null' : (typeof value === 'object' && value.constructor?.name) || typeof value;
  } catch {
    return typeof value;
  }
}

/// Returns the report of a value.
function shown(value) {
  if (value === undefined) return {};
  last = value;
  const text = watched(() => (util.types.isNativeError(value) ? explain(value) : util.inspect(value, whole(value))));
  const report = { type: cut(watched(() => kind(value)), 1000) };
  if (text.length <= LONG) return { ...report, value: cut(text, LONG) };
  // Output is kept whole, and can be read in parts.
  write(copies[0], `${text}\n`);
  return report;
}

/// Returns the report of an error, which is printed.
function failed(error) {
  if (isInterrupt(error)) return { exception: 'Interrupt', interrupted: true };
  // A system call or a child may end first. Only hob knows that it has sent a signal.
  const interrupted = error?.code === 'EINTR' || error?.signal === 'SIGINT';
  const report = { exception: watched(() => headline(error)), interrupted };
  let text = watched(() => explain(error));
  const place = /^(<eval \d+>:(\d+))\n(.*)\n( *)(\^?)/.exec(error?.stack);
  if (error?.name === 'SyntaxError' && place) {
    const [, where, line, code, before, caret] = place;
    report.syntax = { line: +line, column: caret ? before.length + 1 : undefined, message: cut(error.message) };
    text = caret ? `${where}\n${code}\n${before}^\n${headline(error)}` : `${where}\n${headline(error)}`;
  }
  write(copies[1], `${text}\n`);
  return report;
}

/// Makes a global such as `crypto`, which can only be read, a variable.
function settable(name) {
  const { get, configurable } = Object.getOwnPropertyDescriptor(globalThis, name) ?? {};
  if (!get || !configurable) return;
  Object.defineProperty(globalThis, name, { value: get.call(globalThis), writable: true, configurable, enumerable: false });
}

/// Returns a note about files of the project that changed after they were loaded, once for each change.
function changed() {
  for (const file of Object.keys(require.cache)) load(file);
  const found = [];
  for (const [file, before] of loaded) {
    const now = version(file) ?? before;
    if (now !== before) found.push(path.relative(root, file));
    loaded.set(file, now);
  }
  if (!found.length) return undefined;
  const [it, what] = found.length > 1 ? ['they were', 'versions'] : ['it was', 'version'];
  return `${cut(found.join(', '))} changed on disk after ${it} loaded; repl_restart loads the new ${what}.`;
}

/// Returns what changes with a file; undefined if there is none.
function version(file) {
  const { mtimeMs, size } = fs.statSync(file, { throwIfNoEntry: false }) ?? {};
  return mtimeMs && `${mtimeMs} ${size}`;
}

/// Remembers a file of the project.
function load(file) {
  const own = file.startsWith(`${root}/`) && !file.includes('/node_modules/');
  if (own && !loaded.has(file)) loaded.set(file, version(file));
}

function evaluate(code, number) {
  const run = { number, awaited: null, report: null, uncaught: null };
  current = run;
  const fail = (error) => {
    if (error?.code === 'ERR_UNKNOWN_FILE_EXTENSION' && /"\.[mc]?ts"/.test(error.message)) noteTypes(run);
    try {
      finish(run, failed(error));
    } catch (other) {
      const exception = isInterrupt(other) ? 'Interrupt' : 'an exception that cannot be shown';
      finish(run, { exception, interrupted: isInterrupt(other) });
    }
  };
  const succeed = (value) => {
    try {
      finish(run, shown(value));
    } catch (error) {
      fail(error);
    }
  };
  try {
    const { script, names, isAsync, hasValue } = compile(code, number, isTypeScript);
    names.forEach(settable);
    const value = script.runInThisContext({ breakOnSigint: true, displayErrors: false });
    if (isAsync) watched(value).then((values) => succeed(values?.[0]), fail);
    else succeed(hasValue ? value : undefined);
  } catch (error) {
    if (error?.name === 'SyntaxError' && (isTypeScript || TYPES.test(code))) noteTypes(run);
    fail(error);
  }
}

/// Notes which Node can remove types, if this one cannot.
function noteTypes(run) {
  if (require('module').stripTypeScriptTypes) return;
  run.note = `Node ${process.versions.node} cannot remove TypeScript types; Node 22.13 and newer can.`;
}

/// Ends an evaluation after the callbacks that are due, which are part of it.
function finish(run, report) {
  if (run.report) return;
  run.report = report;
  setImmediate(settle, run);
}

function settle(run) {
  if (run !== current) return;
  // The thread that is about to end a callback says when it has.
  if (Atomics.load(cell, STATE) !== ENDING) answer(run, run.report);
}

function answer(run, report) {
  current = null;
  if (report.interrupted) streams.pipe?.pause();
  if (run.uncaught) report.exception ??= run.uncaught;
  const note = run.note ?? changed();
  if (note) report.note = note;
  mark(report);
  next();
}

/// Handles a message of the thread: the number of a signal, or its negative if the thread has ended what computed.
function heard(signal) {
  const run = current;
  Atomics.store(cell, SIGNAL, Math.abs(signal));
  if (signal < 0) {
    Atomics.store(cell, STATE, RESTING);
    if (run) answer(run, { exception: 'Interrupt', interrupted: true });
    return;
  }
  if (!run || run.report) return;
  const { promise, reject } = run.awaited ?? {};
  if (util.inspect(promise, { customInspect: false }).includes('<pending>')) reject(new Interrupt());
  else finish(run, failed(new Interrupt()));
}

/// What rewritten code calls.
const hob = {
  call: () => task(),
  /// Waits for a value, or for an interrupt of the evaluation. V8 follows `then(resolve, reject)` to the line that waits,
  /// for the stack of an error, but no other callbacks.
  wait(number, value) {
    const run = current;
    // An evaluation that was abandoned goes no further.
    if (run?.number !== number) return new Promise(() => {});
    const promise = new Promise((resolve, reject) => {
      run.awaited = { reject };
      Promise.resolve(value).then(resolve, reject);
    });
    run.awaited.promise = promise;
    return promise;
  },
  async *each(number, values) {
    const each = values[Symbol.asyncIterator]?.() ?? values[Symbol.iterator]();
    try {
      for (;;) {
        const { done, value } = await hob.wait(number, each.next());
        if (done) return;
        yield await value;
      }
    } finally {
      each.return?.();
    }
  },
  async import(number, module, source, names) {
    const found = await hob.wait(number, module);
    if (/^\.{0,2}\//.test(source)) load(path.resolve(source.split('?')[0]));
    const missing = names.find((name) => !(name in found));
    if (missing === undefined) return found;
    throw new SyntaxError(`The module '${source}' does not provide an export named '${missing}'`);
  },
};

/// Takes the next complete frame.
function next() {
  const head = frames.indexOf(10);
  if (current || head < 0) return;
  const [, kind, length, path, number] = /^(\w) (\d+)(?: (.*) | )?(\d*)$/.exec(frames.subarray(0, head));
  const end = head + 1 + Number(length);
  if (frames.length < end) return;
  const code = frames.toString('utf8', head + 1, end);
  frames = frames.subarray(end);
  if (kind === 'Q') process.exit();
  if (path) {
    open(path);
    given = true;
  }
  if (kind === 'B') {
    mark({});
    return next();
  }
  evaluate(code, Number(number));
}

/// Hides some events from Node's own listeners.
function without(event, hides) {
  for (const listener of process.listeners(event)) {
    process.removeListener(event, listener);
    process.on(event, (value) => hides(value) || listener.call(process, value));
  }
}

/// Formats a stack, which ends where this driver called the session's code.
function trace(error, frames) {
  const end = frames.findIndex((frame) => `${frame.getFileName()}`.startsWith('hob:'));
  const own = end < 0 ? frames : frames.slice(0, end).filter((frame) => frame.getFileName() !== 'node:vm');
  return [Error.prototype.toString.call(error), ...own.map((frame) => `    at ${frame}`)].join('\n');
}

function start() {
  const hidden = { configurable: true, enumerable: false };
  Object.defineProperty(globalThis, '__hob', { ...hidden, value: hob });
  Object.defineProperty(globalThis, '_', {
    ...hidden,
    get: () => last,
    set: (value) => Object.defineProperty(globalThis, '_', { ...hidden, value, writable: true }),
  });
  Object.defineProperty(process, 'stdin', { configurable: true, enumerable: true, get: stdin });
  delete process.env.HOB_CODE_FD;
  process.execArgv = [];
  // Handlers of the session for SIGINT would take the signal away from the thread.
  for (const event of ['newListener', 'removeListener']) without(event, (name) => name === 'SIGINT');
  without('warning', ({ message }) => message.includes('USE_MAIN_CONTEXT_DEFAULT_LOADER'));
  if (!process.sourceMapsEnabled) Error.prepareStackTrace = trace;
  process.on('uncaughtException', (error) => {
    if (isInterrupt(error)) return;
    if (current) current.uncaught ??= headline(error);
    write(copies[1], `Uncaught ${explain(error)}\n`);
  });
  direct(process.stdout, copies[0]);
  direct(process.stderr, copies[1]);
  const thread = new Worker(`(${watch})()`, { eval: true, workerData: cell, env: {}, execArgv: [] });
  thread.once('message', () => {
    thread.on('message', heard);
    process.stdout.write(`Node.js v${process.versions.node}\n`);
    mark({});
    const channel = new net.Socket({ fd, readable: true, writable: false });
    channel.on('data', (bytes) => {
      frames = Buffer.concat([frames, bytes]);
      next();
    });
    channel.on('end', () => process.exit());
  });
}

start();
