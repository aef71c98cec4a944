//! The kinds of declarations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text_enum::named;

named! {
    /// Kind of a declaration.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(inline)]
    pub enum Kind by word {
        Function = "function", Method = "method", Struct = "struct", Enum = "enum", Union = "union", Class = "class",
        Interface = "interface", Type = "type", Constructor = "constructor", Field = "field", Constant = "constant",
        Variable = "variable", Module = "module", Macro = "macro",
        /// An implementation for a type. It does not define the type's name.
        Impl = "impl",
        /// A declaration that does not parse, but that the language server reports.
        #[serde(skip)]
        Unknown = "unknown",
    }
}

impl Kind {
    /// True if declarations inside name it as their container.
    pub(crate) fn encloses(self) -> bool {
        !matches!(self, Kind::Field | Kind::Type | Kind::Macro)
    }

    /// True for a type, which can have fields and constructors.
    pub fn is_type(self) -> bool {
        matches!(self, Kind::Struct | Kind::Enum | Kind::Union | Kind::Class | Kind::Interface | Kind::Type)
    }

    pub(crate) fn has_code(self) -> bool {
        matches!(self, Kind::Function | Kind::Method | Kind::Constant | Kind::Variable | Kind::Macro)
    }
}
