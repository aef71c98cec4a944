//! The prompt function, which GHCi runs before it reads each command, and so at the end of the command before.
//!
//! The function also captures GHCi's own messages on standard error, so that hob need not guess from the text if an
//! evaluation failed: a program may print text that looks like an exception or a compiler message. Programs and GHCi
//! write to the same handle, but GHCi writes from its main thread, where no program runs. The handle's encoder runs in
//! the writing thread: ours behaves like the previous one, and keeps the characters that the main thread wrote.
//! Messages that GHCi prints in one piece (exceptions, complaints about commands) are captured whole. Compiler messages
//! lack their fixed words, which bypass the encoder, but keep their locations. The payload of the marker on standard
//! error transmits the capture ([`super::super::StderrPayload`]), and [`super::report`] interprets it. A program that
//! sets the handle's encoding replaces the encoder until the next prompt: then the payload reports that.

use super::{ANNOUNCED, Nonce, stops};

/// Variants of the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    Hearing,
    /// Does not capture GHCi's messages.
    OwnHandles,
    /// Uses only what every GHC offers to every program, for one that hides the inner modules of base. Bytes bypass the
    /// encoding of the handles that all code shares, and the prompt does not wait.
    RawBuffers,
}

/// Writes a text as a list of characters, which extensions that reinterpret literals do not affect.
pub(super) fn characters(text: &str) -> String {
    before(text, "Prelude.mempty")
}

/// Writes the characters of a text, followed by `rest`.
fn before(text: &str, rest: &str) -> String {
    let characters: String = text.chars().map(|c| format!("'{c}':")).collect();
    format!("({characters}{rest})")
}

/// The empty text, which no extension reinterprets and which needs no instance.
const EMPTY: &str = "GHC.List.replicate (GHC.Base.ord '\\0') '0'";
/// Definitions that use the inner modules of base: `nl`, the empty text; `sn`, a number as a text; `c`, a character as
/// it is shown; `cc`, joined texts.
const INNER: &str = "sn n = GHC.Show.showSignedInt (GHC.Base.ord '\\0') n nl ; cc = GHC.List.concat ; \
     c l = case GHC.Show.showLitChar l nl of { '\\\\' : _ -> '?' ; _ -> l }";
/// The same definitions without those modules.
const OUTER: &str = "sn n = Prelude.show n ; cc l = Prelude.concat l ; \
     c l = case l Prelude.< '\\DEL' of { Prelude.True -> l ; Prelude.False -> '?' }";

/// Definitions of `w`, which writes a text as bytes; of `p` and `q`, the handles it writes to; of `r`, which waits
/// briefly for input; and of `f` and `t`, which take back input.
///
/// `p` and `q` are handles of our own, without an encoding, to copies of the two descriptors made at the first prompt:
/// code may redirect its own (`hDuplicateTo`). They avoid the C types: those bring 26 more instances of `Num` and as
/// many of `Show`, and GHC would scan them at each lookup, 200 kB and 70 to 100 µs more for every `1+1`. Therefore
/// processes that the code starts inherit the copies. The copies hide from the reader that code has closed standard
/// error; without it GHCi hangs at its next complaint, so `xd` makes it exit.
///
/// `r` is where GHCi waits for the next command if that comes soon. At its own prompt it would wait in its event
/// manager, another OS thread, and each command would be passed to the main thread: two thread switches, often between
/// two processors. Since nothing interrupts `r`, it waits at most 10 ms; a signal at the prompt waits that long. `r`
/// does not see input that GHCi has already read, but then no answer is awaited: each part of the code is sent after
/// the answer to the part before it.
///
/// `f` takes back input that the program did not read, if the code announced that it may read (`t`), and reports its
/// size: GHCi would run it as code.
///
/// `x` sets the buffering of standard output as announced for the next piece of code. GHCi resets it at every load;
/// ours is by lines. A mode that code sets (announced, `SETS`) is saved afterwards in `xm`, and applies while it is
/// found there: a load removes it like ours. While code asks for input there is no buffering. `xs` keeps the
/// announcement.
///
/// `g` reopens standard input for GHCi after `getContents` and `interact`, finished or interrupted, left it half
/// closed: GHCi would take that for the end of its input and exit. Code that still holds the lazy text then fails when
/// it reads more. At the true end of the input the handle is closed, and stays closed. A copy of the handle, `j`,
/// replaces it; inspecting a handle would import the word types.
fn own_handles() -> String {
    let [out, err, input, none] = ["<stdout>", "<stderr>", "<stdin>", "+"].map(|text| before(text, "nl"));
    format!(
        "w h s = System.IO.hPutStr h s Prelude.>> System.IO.hFlush h ; \
         d y n = System.IO.Unsafe.unsafePerformIO (GHC.IO.Device.dup y Prelude.>>= (\\ l -> \
         GHC.IO.Handle.FD.mkHandleFromFD l GHC.IO.Device.Stream n System.IO.WriteMode Prelude.False Prelude.Nothing)) ; \
         p = d GHC.IO.FD.stdout {out} ; q = d GHC.IO.FD.stderr {err} ; \
         r = System.IO.hIsOpen i Prelude.>>= (\\ y -> case y of {{ \
         Prelude.True -> GHC.IO.Device.ready GHC.IO.FD.stdin Prelude.False (GHC.Base.ord '\\n') ; \
         Prelude.False -> System.IO.hIsClosed i Prelude.>>= (\\ l -> case l of {{ \
         Prelude.True -> Prelude.return Prelude.False ; Prelude.False -> g }}) }}) ; \
         i = System.IO.stdin ; j = System.IO.Unsafe.unsafePerformIO (GHC.IO.Handle.FD.mkHandleFromFD GHC.IO.FD.stdin \
         GHC.IO.Device.Stream {input} System.IO.ReadMode Prelude.False Prelude.Nothing) ; \
         g = GHC.IO.Handle.hDuplicateTo j i Prelude.>> System.IO.hSetEncoding i System.IO.utf8 Prelude.>> \
         System.IO.hSetBuffering i System.IO.NoBuffering Prelude.>> Prelude.return Prelude.False ; \
         v = System.IO.Unsafe.unsafePerformIO (GHC.IORef.newIORef Prelude.False) ; \
         t = GHC.IORef.writeIORef v Prelude.True ; \
         b = System.IO.hSetBuffering System.IO.stdout ; xl = System.IO.LineBuffering ; \
         xm = System.IO.Unsafe.unsafePerformIO (GHC.IORef.newIORef xl) ; \
         xs = System.IO.Unsafe.unsafePerformIO (GHC.IORef.newIORef '0') ; \
         xe y l = case y of {{ System.IO.NoBuffering -> (case l of {{ System.IO.NoBuffering -> Prelude.True ; \
         _ -> Prelude.False }}) ; System.IO.BlockBuffering _ -> (case l of {{ System.IO.BlockBuffering _ -> Prelude.True ; \
         _ -> Prelude.False }}) ; _ -> Prelude.False }} ; \
         xd = GHC.IO.Device.devType GHC.IO.FD.stderr ; \
         xg = System.IO.hGetBuffering System.IO.stdout ; \
         xk m = case m of {{ System.IO.LineBuffering -> b m ; _ -> xg Prelude.>>= (\\ y -> case xe m y of {{ \
         Prelude.True -> Prelude.return () ; Prelude.False -> GHC.IORef.writeIORef xm xl Prelude.>> b xl }}) }} ; \
         x s = GHC.IORef.readIORef xs Prelude.>>= (\\ l -> (case l of {{ '0' -> Prelude.return () ; \
         '1' -> GHC.IORef.readIORef xm Prelude.>>= b ; _ -> xg Prelude.>>= GHC.IORef.writeIORef xm }}) Prelude.>> \
         (case s of {{ Prelude.Just (y : _) -> GHC.IORef.writeIORef xs y Prelude.>> (case y of {{ \
         '2' -> GHC.IORef.readIORef xm Prelude.>>= xk ; _ -> t Prelude.>> b System.IO.NoBuffering }}) ; \
         _ -> GHC.IORef.writeIORef xs '0' Prelude.>> GHC.IORef.readIORef xm Prelude.>>= xk }})) ; \
         f = GHC.IORef.readIORef v Prelude.>>= (\\ y -> case y of {{ Prelude.True -> \
         GHC.IORef.writeIORef v Prelude.False Prelude.>> System.IO.hIsClosed i Prelude.>>= (\\ l -> case l of {{ \
         Prelude.True -> Prelude.return {none} ; \
         Prelude.False -> System.IO.hIsOpen i Prelude.>>= (\\ n -> case n of {{ Prelude.True -> Prelude.return n ; \
         Prelude.False -> g }}) Prelude.>> Foreign.Marshal.Alloc.allocaBytes e (\\ s -> \
         System.IO.hGetBufNonBlocking i s e Prelude.>>= (\\ m -> Prelude.return ('+' : sn m))) }}) ; \
         Prelude.False -> Prelude.return {none} }}) ; e = GHC.Base.ord '\\x1ffff'"
    )
}

const RAW_BUFFERS: &str = "w h s = Foreign.C.String.withCAStringLen s \
     (\\ l -> System.IO.hPutBuf h (Prelude.fst l) (Prelude.snd l)) Prelude.>> System.IO.hFlush h ; \
     p = System.IO.stdout ; q = System.IO.stderr ; r = Prelude.return Prelude.False ; \
     b = System.IO.hSetBuffering System.IO.stdout ; xd = Prelude.return () ; \
     x s = Prelude.maybe (b System.IO.LineBuffering) (\\ _ -> b System.IO.NoBuffering) s ; \
     f = Prelude.return nl";

/// The definition of `u`, which returns the payload's part about GHCi's messages: nothing, `?` if some may be missing,
/// or the messages as a Haskell literal.
///
/// `hk` keeps the captured characters, newest first; `hn` is the number that may still come (`hx` is the bound:
/// characters beyond it are dropped, and the payload says `?`); `hs` is a stable name of our encoding, used to check
/// that it is still in place. They are arguments of the function, since a `let` would make one copy of each per type.
/// `he` wraps any encoder in ours. The type of its state must not occur in a neighbouring definition: `MonoLocalBinds`,
/// on with GADTs and type families, would drop that definition's `forall`. `hw` counts in a list, and `t` is a thread
/// as a text: no `==`, no `<` (see [`function`]).
const HEARING: &str = "hx = GHC.Base.ord '\\65535' ; hw n = GHC.List.replicate n () ; \
     hj y n s l = case s of { \
     _ : m -> GHC.IO.Buffer.readCharBuf (GHC.IO.Buffer.bufRaw y) n Prelude.>>= \\ lx -> case lx of { \
     (lc, ln) -> hj y ln m (lc : l) } ; \
     _ -> GHC.IORef.writeIORef hk l } ; \
     hl y l = case GHC.IO.Buffer.isEmptyBuffer l of { Prelude.True -> GHC.IO.Buffer.bufR y ; \
     Prelude.False -> GHC.IO.Buffer.bufL l } ; \
     ha y l = GHC.IORef.readIORef hn Prelude.>>= \\ n -> case hw n of { \
     _ : _ -> (case l Prelude.- GHC.IO.Buffer.bufL y of { m -> \
     GHC.IORef.readIORef hk Prelude.>>= hj y (GHC.IO.Buffer.bufL y) (hw m) Prelude.>> \
     (case n Prelude.- m of { s -> Prelude.seq s (GHC.IORef.writeIORef hn s) }) }) ; _ -> Prelude.return () } ; \
     he lt lu = case lu of { GHC.IO.Encoding.Types.TextEncoding n ld lc -> \
     GHC.IO.Encoding.Types.TextEncoding n ld (Prelude.fmap (\\ lb -> case lb of { \
     GHC.IO.Encoding.Types.BufferCodec le lv lk lg ls -> GHC.IO.Encoding.Types.BufferCodec \
     (\\ li lo -> le li lo Prelude.>>= \\ lx -> case lx of { (_, lj, _) -> GHC.Conc.Sync.myThreadId Prelude.>>= \\ y -> \
     (case GHC.Base.eqString lt (GHC.Conc.Sync.showThreadId y) of { Prelude.True -> ha li (hl li lj) ; \
     Prelude.False -> Prelude.return () }) Prelude.>> Prelude.return lx }) lv lk lg ls }) lc) } ; \
     ho = GHC.IORef.writeIORef hk nl Prelude.>> GHC.IORef.writeIORef hn hx ; \
     hp = GHC.IORef.readIORef hk Prelude.>>= \\ l -> case l of { \
     _ : _ -> GHC.IORef.readIORef hn Prelude.>>= \\ n -> ho Prelude.>> Prelude.return (case hw n of { \
     _ : _ -> '\"' : GHC.Show.showLitString (GHC.List.reverse l) ('\"' : nl) ; _ -> '?' : nl }) ; _ -> Prelude.return l } ; \
     hi y = GHC.Conc.Sync.myThreadId Prelude.>>= \\ l -> case he (GHC.Conc.Sync.showThreadId l) y of { m -> Prelude.seq m \
     (System.Mem.StableName.makeStableName m Prelude.>>= \\ s -> GHC.IORef.writeIORef hs (Prelude.Just s) Prelude.>> \
     System.IO.hSetEncoding System.IO.stderr m Prelude.>> ho Prelude.>> Prelude.return ('?' : nl)) } ; \
     u = System.IO.hGetEncoding System.IO.stderr Prelude.>>= \\ y -> case y of { \
     Prelude.Nothing -> ho Prelude.>> Prelude.return ('?' : nl) ; \
     Prelude.Just l -> System.Mem.StableName.makeStableName l Prelude.>>= \\ s -> GHC.IORef.readIORef hs Prelude.>>= \\ n -> \
     case Prelude.maybe Prelude.False (System.Mem.StableName.eqStableName s) n of { Prelude.True -> hp ; \
     Prelude.False -> hi l } }";

/// Returns the line that installs the prompt function. Its only literals are characters and all names are fully
/// qualified, so it compiles under RebindableSyntax, OverloadedStrings and OverloadedLists. It is masked, so an
/// interrupt cannot tear a marker. The program's own output comes first; if the program closed a stream, GHCi exits
/// here as at its own prompt. Non-ASCII letters in the name of a module become `?`. Values that are equal at every
/// prompt are outside of the function, which is byte code and would rebuild them each time. Work for the next command
/// follows the markers: the buffering, and the wait. No name shadows another: with `-Wall -Werror` on the command line
/// it would not compile.
///
/// A session starts once GHC has compiled this, and most of that time is reading interfaces. So no name comes from a
/// large one (`Eq`, `Ord`, `Enum`, `Foldable` and `Traversable`, 1 MB together), which later code may never need.
pub(super) fn function(nonce: &Nonce, parts: Parts) -> String {
    let (stop, _) = stops(nonce);
    let (nonce, asks, stop) = (format!("{} ", nonce.as_str()), ANNOUNCED.to_owned(), stop);
    let [nonce, asks, stop] = [nonce, asks, stop].map(|text| before(&text, "nl"));
    let nothing = "u = Prelude.return nl";
    let inner = || format!("nl = {EMPTY} ; {INNER} ; {}", own_handles());
    let (hears, parts, hearing) = match parts {
        Parts::Hearing => (true, inner(), HEARING),
        Parts::OwnHandles => (false, inner(), nothing),
        Parts::RawBuffers => (false, format!("nl = Prelude.mempty ; {OUTER} ; {RAW_BUFFERS}"), nothing),
    };
    let (open, close) = if hears {
        let new = "(System.IO.Unsafe.unsafePerformIO (GHC.IORef.newIORef";
        ("(\\ hk hn hs -> ", format!(") {new} ({EMPTY}))) {new} (GHC.Base.ord '\\0'))) {new} Prelude.Nothing))"))
    } else {
        ("", String::new())
    };
    format!(
        ":set prompt-function {open}let {{ \
         {parts} ; k = {nonce} ; a = {asks} ; hv = {stop} ; z = '\\n' : nl ; o = System.IO.stdout ; {hearing} ; \
         hy = System.Environment.lookupEnv hv Prelude.>>= Prelude.maybe u \
         (\\ _ -> System.Environment.unsetEnv hv Prelude.>> Prelude.fmap ('!' :) u) }} in \
         \\ms n -> let {{ m = k Prelude.++ sn n }} in Control.Exception.uninterruptibleMask_ ( \
         System.IO.hFlush o Prelude.>> System.IO.hFlush System.IO.stderr Prelude.>> xd Prelude.>> f Prelude.>>= (\\ y -> \
         w p (m Prelude.++ (' ' : (Prelude.map c (cc ms) Prelude.++ z))) Prelude.>> \
         hy Prelude.>>= (\\ s -> w q (m Prelude.++ (' ' : (y Prelude.++ (s Prelude.++ z)))))) Prelude.>> \
         System.Environment.lookupEnv a Prelude.>>= (\\ s -> \
         Prelude.maybe (Prelude.return ()) (\\ _ -> System.Environment.unsetEnv a) s Prelude.>> x s)) Prelude.>> \
         r Prelude.>> Prelude.return nl{close}\n"
    )
}
