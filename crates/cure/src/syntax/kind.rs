//! The kinds of tokens and nodes in the lossless tree: names and classes only. The lexer and the parser decide which
//! text gets which kind.

use SyntaxKind as K;

macro_rules! kinds {
    ($($name:ident)*) => {
        /// A token's or a node's kind. Tokens first; nodes are written in the order of the grammar.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum SyntaxKind {
            $(#[allow(missing_docs, reason = "the name is the documentation")] $name,)*
        }

        const ALL: &[SyntaxKind] = &[$(SyntaxKind::$name),*];
    };
}

kinds! {
    // Trivia and invalid tokens.
    Whitespace Comment Unknown Eof
    // Words and literals.
    Ident Int Float Str StrOpen StrMid StrClose Charlist QuotedAtom Atom
    // Punctuation.
    LParen RParen LBracket RBracket LBrace RBrace LVector RVector Comma Semicolon Colon ColonColon Dot Pipe Eq FatArrow
    Arrow LongArrow
    // Operators.
    Plus Minus Star Slash Percent Lt Gt LtEq GtEq LtGt EqEq NotEq PlusPlus MinusMinus PipeGt PipeArrow FunctorLeft
    FunctorRight Applicative ThenRight ThenLeft Bind GtGt
    // Keywords.
    DefKw CurifyKw EndKw DoKw MatchKw WhenKw WhereKw LetKw InKw AsKw ModuleKw ImportKw ExportKw ExportClassesKw
    ProcessKw FsmKw ReceiveKw SendKw SpawnKw RecordKw TypeKw ClassKw InstanceKw DeriveKw TraitKw ImplKw TrueKw FalseKw
    AndKw OrKw NotKw FnKw IfKw ThenKw ElseKw
    // Items.
    Source Module Exports ExportName ExportClasses Import ImportName Path Def Name TypeParams TypeParam Bounds Params
    Param Return Guard Where Constraint Body Curify Target Record FieldDecl Derive TypeDef Class Method Instance Trait
    Impl AssocType
    // Machines.
    Fsm Payload PayloadField States Initial Terminal State Transition Arrows Edge ActionBlock Assign
    // Types.
    TyName TyArgs TyLen TyFn TyArrow TyUnion TyTuple TyRefined TyParen
    // Expressions.
    Literal Interpolation NameExpr FieldExpr CallExpr Args UnitExpr ParenExpr RecordExpr UpdateExpr FieldInit
    UnaryExpr BinaryExpr AsExpr LetStmt BlockExpr ListExpr VectorExpr TupleExpr LambdaExpr MatchExpr Clause IfExpr
    // Patterns.
    PatName PatLiteral PatList PatTuple PatCtor PatRecord PatField
    // Unparsable text.
    Error
}

impl SyntaxKind {
    /// True if it is white space or a comment.
    pub fn is_trivia(self) -> bool {
        matches!(self, K::Whitespace | K::Comment)
    }

    /// True if it is a reserved word.
    pub(crate) fn is_keyword(self) -> bool {
        KEYWORDS.iter().any(|(_, kind)| *kind == self)
    }

    /// True if an item of a module begins with it. No expression does, so the parser recovers here.
    pub(crate) fn starts_item(self) -> bool {
        matches!(
            self,
            K::DefKw
                | K::CurifyKw
                | K::ModuleKw
                | K::ImportKw
                | K::ExportKw
                | K::ExportClassesKw
                | K::FsmKw
                | K::RecordKw
                | K::TypeKw
                | K::ClassKw
                | K::InstanceKw
                | K::DeriveKw
                | K::TraitKw
                | K::ImplKw
        )
    }

    /// The binary operators: precedence, and whether they associate to the right.
    pub(crate) fn binding(self) -> Option<(u8, bool)> {
        Some(match self {
            K::PipeGt | K::PipeArrow | K::Bind | K::GtGt => (1, false),
            K::OrKw | K::AsKw => (2, false),
            K::AndKw => (3, false),
            K::Lt | K::Gt | K::LtEq | K::GtEq | K::EqEq | K::NotEq => (5, false),
            K::Applicative | K::ThenRight | K::ThenLeft => (7, false),
            K::FunctorLeft | K::FunctorRight => (8, false),
            K::Plus | K::Minus => (10, false),
            K::PlusPlus | K::LtGt | K::MinusMinus => (15, true),
            K::Star | K::Slash | K::Percent => (20, false),
            _ => return None,
        })
    }

    /// The name of the kind in messages.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            K::Ident => "a name",
            K::Int | K::Float => "a number",
            K::Str | K::StrOpen | K::StrMid | K::StrClose => "a string",
            K::Charlist => "a character list",
            K::QuotedAtom | K::Atom => "an atom",
            K::Eof => "the end of the text",
            K::Unknown => "an unknown character",
            _ => self.text().unwrap_or("this"),
        }
    }

    /// The text of a token, if the kind determines it.
    pub(crate) fn text(self) -> Option<&'static str> {
        PUNCTUATION.iter().chain(KEYWORDS).find(|(_, kind)| *kind == self).map(|(text, _)| *text)
    }
}

/// Punctuation and operators; among those with a common prefix, the longest first.
pub(crate) const PUNCTUATION: &[(&str, SyntaxKind)] = &[
    ("-->", K::LongArrow),
    ("|->", K::PipeArrow),
    ("<*>", K::Applicative),
    (">>=", K::Bind),
    ("::", K::ColonColon),
    ("=>", K::FatArrow),
    ("->", K::Arrow),
    ("<=", K::LtEq),
    (">=", K::GtEq),
    ("<>", K::LtGt),
    ("==", K::EqEq),
    ("!=", K::NotEq),
    ("++", K::PlusPlus),
    ("--", K::MinusMinus),
    ("|>", K::PipeGt),
    ("<$", K::FunctorLeft),
    ("$>", K::FunctorRight),
    ("*>", K::ThenRight),
    ("<*", K::ThenLeft),
    (">>", K::GtGt),
    ("(", K::LParen),
    (")", K::RParen),
    ("[", K::LBracket),
    ("]", K::RBracket),
    ("{", K::LBrace),
    ("}", K::RBrace),
    ("‹", K::LVector),
    ("›", K::RVector),
    (",", K::Comma),
    (";", K::Semicolon),
    (":", K::Colon),
    (".", K::Dot),
    ("|", K::Pipe),
    ("=", K::Eq),
    ("+", K::Plus),
    ("-", K::Minus),
    ("*", K::Star),
    ("/", K::Slash),
    ("%", K::Percent),
    ("<", K::Lt),
    (">", K::Gt),
];

/// The reserved words.
pub(crate) const KEYWORDS: &[(&str, SyntaxKind)] = &[
    ("def", K::DefKw),
    ("curify", K::CurifyKw),
    ("end", K::EndKw),
    ("do", K::DoKw),
    ("match", K::MatchKw),
    ("when", K::WhenKw),
    ("where", K::WhereKw),
    ("let", K::LetKw),
    ("in", K::InKw),
    ("as", K::AsKw),
    ("module", K::ModuleKw),
    ("import", K::ImportKw),
    ("export", K::ExportKw),
    ("export_typeclasses", K::ExportClassesKw),
    ("process", K::ProcessKw),
    ("fsm", K::FsmKw),
    ("receive", K::ReceiveKw),
    ("send", K::SendKw),
    ("spawn", K::SpawnKw),
    ("record", K::RecordKw),
    ("type", K::TypeKw),
    ("typeclass", K::ClassKw),
    ("instance", K::InstanceKw),
    ("derive", K::DeriveKw),
    ("trait", K::TraitKw),
    ("impl", K::ImplKw),
    ("true", K::TrueKw),
    ("false", K::FalseKw),
    ("and", K::AndKw),
    ("or", K::OrKw),
    ("not", K::NotKw),
    ("fn", K::FnKw),
    ("if", K::IfKw),
    ("then", K::ThenKw),
    ("else", K::ElseKw),
];

/// All reserved words.
pub(crate) fn keywords() -> impl Iterator<Item = &'static str> {
    KEYWORDS.iter().map(|(word, _)| *word)
}

/// The language type for the tree library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CureLanguage {}

impl rowan::Language for CureLanguage {
    type Kind = SyntaxKind;

    fn kind_from_raw(raw: rowan::SyntaxKind) -> SyntaxKind {
        ALL[usize::from(raw.0)]
    }

    fn kind_to_raw(kind: SyntaxKind) -> rowan::SyntaxKind {
        rowan::SyntaxKind(kind as u16)
    }
}

/// A node of the tree.
pub type SyntaxNode = rowan::SyntaxNode<CureLanguage>;
/// A token of the tree.
pub type SyntaxToken = rowan::SyntaxToken<CureLanguage>;
