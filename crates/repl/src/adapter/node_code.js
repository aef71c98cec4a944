// Rewrites code so that it can be run again and again in the global scope, as the prompt of a developer tool does:
// top-level declarations become global variables, top-level `await` and `import` work, and each `await` can be interrupted.
// The parser is the one that Node's own prompt uses. Line numbers are kept.

const PARSER = 'internal/deps/acorn/acorn/dist/acorn';
const OPTIONS = { ecmaVersion: 'latest', allowImportExportEverywhere: true, allowAwaitOutsideFunction: true };
let parser;

/// Calls a function whose warnings (about a deprecated or experimental interface) do not concern the session's code.
function quietly(call) {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return call();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/// Returns the syntax tree, or the parser's error. Without a parser there is neither.
function parse(text) {
  if (parser === undefined) {
    const module = { exports: {} };
    try {
      const source = quietly(() => process.binding('natives')[PARSER]);
      vm.compileFunction(source, ['exports', 'module'], { filename: 'node:acorn' })(module.exports, module);
      parser = module.exports;
    } catch {
      parser = null;
    }
  }
  try {
    return { tree: parser?.parse(text, OPTIONS) };
  } catch (error) {
    return { error };
  }
}

/// Returns the code without its TypeScript types, or undefined if Node cannot remove them. A syntax error is thrown.
function stripTypes(code, filename) {
  const { stripTypeScriptTypes } = require('module');
  // Enums and namespaces are more than types: they are translated.
  for (const mode of stripTypeScriptTypes ? ['strip', 'transform'] : []) {
    try {
      return quietly(() => stripTypeScriptTypes(code, { mode }));
    } catch (error) {
      if (error.code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' && mode === 'strip') continue;
      error.stack = filename + error.stack;
      throw error;
    }
  }
}

/// Calls `enter` with each node that is not inside a function.
function visit(node, enter) {
  enter(node);
  for (const child of Object.values(node)) {
    for (const inner of Array.isArray(child) ? child : [child]) {
      if (typeof inner?.type === 'string' && !inner.type.includes('Function')) visit(inner, enter);
    }
  }
}

/// Returns the names that a pattern binds.
function bound(pattern) {
  switch (pattern?.type) {
    case 'Identifier': return [pattern.name];
    case 'ObjectPattern': return pattern.properties.flatMap((one) => bound(one.value ?? one.argument));
    case 'ArrayPattern': return pattern.elements.flatMap(bound);
    case 'AssignmentPattern': return bound(pattern.left);
    case 'RestElement': return bound(pattern.argument);
    default: return [];
  }
}

/// Returns the text of an import as an assignment, and adds the names that it binds.
function imported(statement, number, names) {
  const source = statement.source.raw;
  const attributes = (statement.attributes ?? []).map(({ key, value }) => `${JSON.stringify(key.name ?? key.value)}: ${value.raw}`);
  const options = attributes.length ? `, { with: { ${attributes} } }` : '';
  const parts = [];
  let space = null;
  for (const { type, imported: from, local } of statement.specifiers) {
    names.push(local.name);
    if (type === 'ImportNamespaceSpecifier') space = local.name;
    else parts.push([from ? from.name ?? from.value : 'default', local.name]);
  }
  const wanted = JSON.stringify(parts.map(([name]) => name));
  const module = `await __hob.import(${number}, import(${source}${options}), ${source}, ${wanted})`;
  const pattern = parts.map(([name, local]) => `${JSON.stringify(name)}: ${local}`);
  if (space === null) return `({ ${pattern} } = ${module});`;
  return `${space} = ${module};${parts.length ? ` ({ ${pattern} } = ${space});` : ''}`;
}

/// Returns the rewritten text of a parsed piece of code, the length of what was put before it, the names that it declares,
/// and whether it is asynchronous (then its value is a function) and has a value.
function rewrite(text, tree, number) {
  const edits = [];
  const replace = (start, end, by) => edits.push({ start, end, by });
  const insert = (at, by) => replace(at, at, by);
  const wrap = ({ start, end }, before, after) => (insert(start, before), insert(end, after));
  let isAsync = false;
  visit(tree, (node) => {
    const waits = node.type === 'AwaitExpression';
    const loops = node.type === 'ForOfStatement' && node.await;
    if (waits) wrap(node.argument, `__hob.wait(${number}, (`, '))');
    if (loops) wrap(node.right, `__hob.each(${number}, (`, '))');
    isAsync ||= waits || loops || node.type === 'ImportDeclaration' || node.kind === 'await using';
  });
  const names = [];
  let begin = '';
  const end = (statement) => (text[statement.end - 1] === ';' ? '' : ';');
  const declare = (node) => {
    if (node.type === 'VariableDeclaration' && !node.kind.includes('using')) {
      for (const { id, init, end } of node.declarations) {
        names.push(...bound(id));
        if (!init && node.kind === 'let') insert(end, ' = undefined');
      }
      if (isAsync) {
        replace(node.start, node.declarations[0].start, 'void (');
        insert(node.end - (end(node) ? 0 : 1), ')');
      } else {
        replace(node.start, node.start + node.kind.length, 'var');
      }
      insert(node.end, end(node));
    } else if (node.type === 'ClassDeclaration') {
      names.push(node.id.name);
      wrap(node, `${isAsync ? '' : 'var '}${node.id.name} = `, ';');
    } else if (node.type === 'FunctionDeclaration' && isAsync) {
      names.push(node.id.name);
      begin += `globalThis.${node.id.name} = ${node.id.name}; `;
    }
  };
  for (const node of tree.body) {
    if (node.type === 'ImportDeclaration') {
      const lines = text.slice(node.start, node.end).replace(/[^\n]/g, '');
      replace(node.start, node.end, imported(node, number, names) + lines);
    } else if (node.type.startsWith('Export')) {
      const inner = node.declaration;
      replace(node.start, inner ? inner.start : node.end, '');
      if (inner?.id) declare(inner);
      else if (inner?.type === 'VariableDeclaration') declare(inner);
    } else {
      declare(node);
    }
  }
  const last = tree.body.at(-1);
  const hasValue = last?.type === 'ExpressionStatement';
  if (hasValue && isAsync) wrap(last.expression, 'return [(', ')]');
  edits.sort((a, b) => a.start - b.start);
  let made = '';
  let at = 0;
  for (const { start, end, by } of edits) {
    made += text.slice(at, start) + by;
    at = end;
  }
  made += text.slice(at);
  if (!isAsync) return { text: made, before: 0, names, isAsync, hasValue };
  const before = `${names.length ? `var ${names}; ` : ''}(async () => { ${begin}`;
  return { text: `${before}${made}\n})`, before: before.length, names, isAsync, hasValue };
}

/// Compiles a piece of code. A syntax error is thrown.
function compile(code, number, isTypeScript) {
  const filename = `<eval ${number}>`;
  const script = (text, columnOffset) =>
    new vm.Script(text, { filename, columnOffset, importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER });
  let text = code;
  let { tree, error } = isTypeScript ? {} : parse(code);
  if (!tree) {
    try {
      text = stripTypes(code, filename) ?? code;
      ({ tree, error } = parse(text));
    } catch (wrong) {
      // What is no TypeScript may still be JavaScript.
      if (isTypeScript) ({ tree, error } = parse(code));
      if (isTypeScript && !tree) throw wrong;
    }
  }
  // A brace begins an object, if it can.
  if (/^\s*\{/.test(text) && !/;\s*$/.test(text)) {
    const object = parse(`(${text}\n)`);
    if (object.tree) [text, tree] = [`(${text}\n)`, object.tree];
  }
  if (!tree) {
    try {
      return { script: script(code, 0), names: [], isAsync: false, hasValue: true };
    } catch (other) {
      // Node's own message is better, unless it is about what is allowed here.
      if (!error || !/await|import|export/.test(other.message)) throw other;
      const { line, column } = error.loc;
      error.message = error.message.replace(/ \(\d+:\d+\)$/, '');
      error.stack = `${filename}:${line}\n${text.split('\n')[line - 1]}\n${' '.repeat(column)}^\n\n${error}`;
      throw error;
    }
  }
  const made = rewrite(text, tree, number);
  return { script: script(made.text, -made.before), ...made };
}
