// Prints the definitions of a TypeScript project and what each identifier means, by the compiler's own checker.
import path from "node:path";
import ts from "typescript";

const config = ts.getParsedCommandLineOfConfigFile(process.argv[2], {}, { ...ts.sys, onUnRecoverableConfigFileDiagnostic: console.error });
const program = ts.createProgram(config.fileNames, config.options);
const checker = program.getTypeChecker();
const root = process.cwd();

function place(node) {
  const file = node.getSourceFile();
  const at = file.getLineAndCharacterOfPosition(node.getStart());
  return `${path.relative(root, file.fileName)}:${at.line + 1}:${at.character + 1}`;
}

const isOurs = (node) => !path.relative(root, node.getSourceFile().fileName).startsWith("..");
const nameOf = (declaration) => ts.getNameOfDeclaration(declaration) ?? declaration;

function isDefinition(declaration) {
  const isMember = [ts.isClassLike, ts.isInterfaceDeclaration, ts.isEnumDeclaration].some((is) => is(declaration.parent));
  const around = ts.isVariableDeclaration(declaration) ? declaration.parent.parent.parent : declaration.parent;
  return (isMember && !ts.isTypeParameterDeclaration(declaration)) || (ts.isSourceFile(around) && declaration.name !== undefined);
}

function visit(node) {
  if (ts.isIdentifier(node)) {
    const declares = nameOf(node.parent) === node && node.parent.kind !== ts.SyntaxKind.ShorthandPropertyAssignment;
    if (declares && isDefinition(node.parent) && ts.isSourceFile(node.getSourceFile())) {
      console.log(`D\t${place(node)}\t${ts.SyntaxKind[node.parent.kind]}\t${node.text}`);
    }
    const meant = [checker.getSymbolAtLocation(node)];
    const around = node.parent.parent;
    if (ts.isShorthandPropertyAssignment(node.parent)) {
      meant.push(checker.getShorthandAssignmentValueSymbol(node.parent));
    }
    if (ts.isObjectLiteralElement(node.parent) && node.parent.name === node && !ts.isMethodDeclaration(node.parent)) {
      const isAssigned = ts.isBinaryExpression(around.parent) && around.parent.left === around;
      const type = isAssigned ? checker.getTypeAtLocation(around.parent.right) : checker.getContextualType(around);
      meant.push(type?.getProperty(node.text));
    }
    if (ts.isBindingElement(node.parent) && ts.isObjectBindingPattern(around) && !node.parent.propertyName) {
      meant.push(checker.getTypeAtLocation(around).getProperty(node.text));
    }
    for (let symbol of meant.filter((symbol) => symbol)) {
      if (symbol.flags & ts.SymbolFlags.Alias) {
        symbol = checker.getAliasedSymbol(symbol);
      }
      const own = (symbol.declarations ?? []).filter(isOurs).map(nameOf);
      if (!own.includes(node)) {
        own.forEach((name) => console.log(`U\t${place(node)}\t${place(name)}`));
      }
    }
  }
  ts.forEachChild(node, visit);
}

program.getSourceFiles().filter(isOurs).forEach(visit);
