//! The MCP resources for Cure: syntax help, the library's documentation and examples, each under its own address.

use std::sync::Arc;

use mcp::prompt::Completing;
use mcp::resource::{
    Contents, Matched, ReadError, ReadResult, Resource, Resources, Template, TemplateError, resource,
    template_with_values,
};

use crate::standard;
use crate::tools::{EXAMPLES, TOPICS, library};

/// A kind of resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shelf {
    Syntax,
    Library,
    Examples,
}

const SHELVES: [Shelf; 3] = [Shelf::Syntax, Shelf::Library, Shelf::Examples];

impl Shelf {
    fn template(self) -> &'static str {
        match self {
            Shelf::Syntax => "cure://syntax/{topic}",
            Shelf::Library => "cure://std/{module}",
            Shelf::Examples => "cure://examples/{name}",
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Shelf::Syntax => "topic",
            Shelf::Library => "module",
            Shelf::Examples => "name",
        }
    }

    fn uri(self, name: &str) -> String {
        self.template().replace(&format!("{{{}}}", self.variable()), name)
    }

    fn about(self) -> &'static str {
        match self {
            Shelf::Syntax => "The syntax of Cure, by topic, with a program that compiles.",
            Shelf::Library => "A module of Cure's standard library: its functions and what they do.",
            Shelf::Examples => "A whole program in Cure.",
        }
    }

    fn mime_type(self) -> &'static str {
        match self {
            Shelf::Syntax => "text/markdown",
            Shelf::Library | Shelf::Examples => "text/plain",
        }
    }

    fn names(self) -> Vec<&'static str> {
        match self {
            Shelf::Syntax => TOPICS.iter().map(|(_, name, _)| *name).collect(),
            Shelf::Library => standard::names().collect(),
            Shelf::Examples => EXAMPLES.iter().map(|(_, name, _)| *name).collect(),
        }
    }

    fn text(self, name: &str) -> Option<String> {
        match self {
            Shelf::Syntax => TOPICS.iter().find(|(_, known, _)| *known == name).map(|(.., text)| (*text).to_owned()),
            Shelf::Library => library(name),
            Shelf::Examples => {
                EXAMPLES.iter().find(|(_, known, _)| *known == name).map(|(.., text)| (*text).to_owned())
            }
        }
    }

    /// The resource of this name.
    pub(crate) fn contents(self, name: &str) -> Option<Contents> {
        Some(Contents::text(self.uri(name), self.mime_type(), self.text(name)?))
    }

    fn read(self, name: &str) -> ReadResult {
        Ok(vec![self.contents(name).ok_or(ReadError::NotFound)?])
    }

    fn declaration(self, uri: String, name: &str) -> Resource {
        let mut about = Resource::new(uri, name);
        about.description = Some(self.about().to_owned());
        about.mime_type = Some(self.mime_type().to_owned());
        about
    }
}

/// Registers all resources, with a template for each kind.
pub fn serve_resources(resources: &Arc<Resources>) -> Result<(), TemplateError> {
    for shelf in SHELVES {
        let mut template = Template::new(shelf.template(), format!("cure-{}", shelf.variable()))?;
        template.about.description = Some(shelf.about().to_owned());
        template.about.mime_type = Some(shelf.mime_type().to_owned());
        resources.add_template(template_with_values(
            template,
            move |_, matched: Matched| async move { shelf.read(matched.get(shelf.variable())) },
            move |_, asked: Completing| async move { Ok(asked.choose(shelf.names())) },
        ));
        for name in shelf.names() {
            let declaration = shelf.declaration(shelf.uri(name), name);
            resources.add(resource(declaration, move |_| async move { shelf.read(name) }));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_named_can_be_read() {
        for shelf in SHELVES {
            for name in shelf.names() {
                let text = shelf.text(name).unwrap_or_default();
                assert!(text.len() > 40, "{} is empty", shelf.uri(name));
            }
            assert!(matches!(shelf.read("nothing"), Err(ReadError::NotFound)));
        }
        assert_eq!(Shelf::Library.uri("Std.List"), "cure://std/Std.List");
    }
}
