// Prints the definitions of a Go module and what each identifier means, by go/types.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

type listed struct {
	ImportPath, Name, Dir              string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

type module struct {
	files    *token.FileSet
	listed   map[string]listed
	checked  map[string]*types.Package
	standard types.Importer
	lines    map[string][]string
}

func (m *module) Import(path string) (*types.Package, error) {
	one, isOurs := m.listed[path]
	if !isOurs {
		return m.standard.Import(path)
	}
	if m.checked[path] == nil {
		m.checked[path] = m.check(path, one.Dir, append(one.GoFiles, one.TestGoFiles...))
	}
	return m.checked[path], nil
}

func (m *module) check(path, dir string, names []string) *types.Package {
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(m.files, filepath.Join(dir, name), nil, 0)
		exitOn(err)
		files = append(files, file)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	checker := types.Config{Importer: m, Error: func(err error) { fmt.Fprintln(os.Stderr, err) }}
	pkg, _ := checker.Check(path, m.files, files, info)
	for name, object := range info.Defs {
		if object == nil {
			continue
		}
		field, isVar := object.(*types.Var)
		function, isFunc := object.(*types.Func)
		isMember := isVar && field.IsField() || isFunc && function.Type().(*types.Signature).Recv() != nil
		if isMember || object.Parent() == pkg.Scope() {
			kind := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", object), "*types."))
			fmt.Printf("D\t%s\t%s\t%s\n", m.place(name.Pos()), kind, name.Name)
		}
	}
	for name, object := range info.Uses {
		if at := m.place(object.Pos()); at != "" {
			fmt.Printf("U\t%s\t%s\n", m.place(name.Pos()), at)
		}
	}
	return pkg
}

// A place as file:line:column, with the column in characters; nothing for what is outside of the module.
func (m *module) place(pos token.Pos) string {
	at := m.files.Position(pos)
	here, _ := os.Getwd()
	file, err := filepath.Rel(here, at.Filename)
	if !pos.IsValid() || err != nil || strings.HasPrefix(file, "..") {
		return ""
	}
	if m.lines[file] == nil {
		text, err := os.ReadFile(file)
		exitOn(err)
		m.lines[file] = strings.Split(string(text), "\n")
	}
	column := utf8.RuneCountInString(m.lines[file][at.Line-1][:at.Column-1]) + 1
	return fmt.Sprintf("%s:%d:%d", file, at.Line, column)
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	files := token.NewFileSet()
	m := module{files, map[string]listed{}, map[string]*types.Package{}, importer.ForCompiler(files, "source", nil), map[string][]string{}}
	said, err := exec.Command("go", "list", "-json", "./...").Output()
	exitOn(err)
	for decoder := json.NewDecoder(strings.NewReader(string(said))); ; {
		var one listed
		if err := decoder.Decode(&one); err == io.EOF {
			break
		} else {
			exitOn(err)
		}
		m.listed[one.ImportPath] = one
	}
	for path, one := range m.listed {
		_, err := m.Import(path)
		exitOn(err)
		m.check(path+"_test", one.Dir, one.XTestGoFiles)
	}
}
