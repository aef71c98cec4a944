//! The prompt function: what GHCi runs before it reads each command, and with that the end of the command before.
//!
//! It also hears what GHCi itself says on standard error, so that nobody has to guess from the text whether an evaluation
//! failed: a program may print what looks like an exception or a compiler's message, on purpose or not. Programs and GHCi
//! write to the same handle, but GHCi does so from its main thread, and no program runs there. The handle's encoder runs in the
//! thread that writes: ours does what the one before it did, and keeps the characters that the main thread wrote. What
//! GHCi prints in one piece is complete there (exceptions, complaints about commands); of a compiler's messages the fixed
//! words are missing, since those go past the encoder, but not their places. The payload of the marker on standard error
//! hands that over ([`super::super::Aside`]); what it means stands in [`super::report`]. A program that sets the handle's encoding itself replaces the encoder until the
//! next prompt: then the payload says so.

use super::{ANNOUNCED, Nonce, stops};

/// What it is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    Hearing,
    /// What GHCi says is not heard.
    OwnHandles,
    /// What every GHC offers to every program: for one that keeps the inner modules of base to itself. Bytes go past the
    /// encoding of the handles that everyone uses, and nothing is waited for.
    RawBuffers,
}

/// Characters and nothing else, so that extensions which reinterpret literals do not matter.
pub(super) fn characters(text: &str) -> String {
    let characters: String = text.chars().map(|c| format!("'{c}':")).collect();
    format!("({characters}Prelude.mempty)")
}

/// Definitions of `w`, that writes a text as bytes, of `p` and `q`, where to, of `r`, that waits for a moment until there is
/// something to read, and of `f` and `t`, that take back input.
///
/// `p` and `q` are handles of our own, without an encoding, to copies of the two descriptors, which are made at the first
/// prompt: code may lead its own elsewhere (`hDuplicateTo`). They are made of nothing that knows the types of C: those are
/// 26 more instances of `Num`, as many of `Show`, and GHC would go through all of them whenever it looks for one, 200 kB
/// and 70 to 100 µs more for every `1+1`. So the copies cannot be kept from processes that the code starts. They hide from
/// the reader that code has closed standard error itself; without it GHCi hangs at its next complaint, so `xd` makes it end.
///
/// `r` is where GHCi waits for the next command if that comes soon. At its own prompt it would wait by its event manager,
/// another thread of the operating system, and each command would have to go from there to the main one: two changes
/// of threads, often between two processors. Since nothing interrupts it, it takes no longer than 10 ms; a signal at the
/// prompt has to wait for that. What GHCi has read already it does not see, but then nobody waits for an answer: of code,
/// each part is sent when the one before it was answered.
///
/// `f` takes back what the program did not read of its input, where it was announced that it may read (`t`), and says how
/// much that is: GHCi would take it for code.
///
/// `x` sees to the buffering of standard output, by what is announced of the next piece of code. GHCi takes it away at every
/// load; we set it for lines. A mode that code sets (announced, [`SETS`]) is looked up after it, in `xm`, and stays as long
/// as it is found: a load takes it away like ours. While code asks for input there is none. `xs` keeps what was announced.
///
/// `g` opens standard input again for GHCi where code has left it half closed: after `getContents` and `interact`, whether
/// they came to their end or were interrupted, GHCi would take it for the end of its input and leave. What somebody still
/// holds of the lazy text then fails when it is asked for more. At the true end of the input the handle is closed, and
/// stays so. It is a copy of the handle `j` that takes its place; to look into a handle would bring in the types of words.
fn own_handles() -> String {
    let [out, err, input, none] = ["<stdout>", "<stderr>", "<stdin>", "+"].map(characters);
    format!(
        "w h s = System.IO.hPutStr h s Prelude.>> System.IO.hFlush h ; \
         d f n = System.IO.Unsafe.unsafePerformIO (GHC.IO.Device.dup f Prelude.>>= (\\ c -> \
         GHC.IO.Handle.FD.mkHandleFromFD c GHC.IO.Device.Stream n System.IO.WriteMode Prelude.False Prelude.Nothing)) ; \
         p = d GHC.IO.FD.stdout {out} ; q = d GHC.IO.FD.stderr {err} ; \
         r = System.IO.hIsOpen i Prelude.>>= (\\ y -> case y of {{ \
         Prelude.True -> GHC.IO.Device.ready GHC.IO.FD.stdin Prelude.False (Prelude.fromEnum '\\n') ; \
         Prelude.False -> System.IO.hIsClosed i Prelude.>>= (\\ x -> case x of {{ \
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
         xe i j = case i of {{ System.IO.NoBuffering -> (case j of {{ System.IO.NoBuffering -> Prelude.True ; \
         _ -> Prelude.False }}) ; System.IO.BlockBuffering _ -> (case j of {{ System.IO.BlockBuffering _ -> Prelude.True ; \
         _ -> Prelude.False }}) ; _ -> Prelude.False }} ; \
         xd = GHC.IO.Device.devType GHC.IO.FD.stderr ; \
         xg = System.IO.hGetBuffering System.IO.stdout ; \
         xk m = case m of {{ System.IO.LineBuffering -> b m ; _ -> xg Prelude.>>= (\\ i -> case xe m i of {{ \
         Prelude.True -> Prelude.return () ; Prelude.False -> GHC.IORef.writeIORef xm xl Prelude.>> b xl }}) }} ; \
         x s = GHC.IORef.readIORef xs Prelude.>>= (\\ l -> (case l of {{ '0' -> Prelude.return () ; \
         '1' -> GHC.IORef.readIORef xm Prelude.>>= b ; _ -> xg Prelude.>>= GHC.IORef.writeIORef xm }}) Prelude.>> \
         (case s of {{ Prelude.Just (y : _) -> GHC.IORef.writeIORef xs y Prelude.>> (case y of {{ \
         '2' -> GHC.IORef.readIORef xm Prelude.>>= xk ; _ -> t Prelude.>> b System.IO.NoBuffering }}) ; \
         _ -> GHC.IORef.writeIORef xs '0' Prelude.>> GHC.IORef.readIORef xm Prelude.>>= xk }})) ; \
         f = GHC.IORef.readIORef v Prelude.>>= (\\ x -> case x of {{ Prelude.True -> \
         GHC.IORef.writeIORef v Prelude.False Prelude.>> System.IO.hIsClosed i Prelude.>>= (\\ y -> case y of {{ \
         Prelude.True -> Prelude.return {none} ; \
         Prelude.False -> System.IO.hIsOpen i Prelude.>>= (\\ l -> case l of {{ Prelude.True -> Prelude.return l ; \
         Prelude.False -> g }}) Prelude.>> Foreign.Marshal.Alloc.allocaBytes e (\\ l -> \
         System.IO.hGetBufNonBlocking i l e Prelude.>>= (\\ x -> Prelude.return ('+' : Prelude.show x))) }}) ; \
         Prelude.False -> Prelude.return {none} }}) ; e = Prelude.fromEnum '\\x1ffff'"
    )
}

const RAW_BUFFERS: &str = "w h s = Foreign.C.String.withCAStringLen s \
     (\\ l -> System.IO.hPutBuf h (Prelude.fst l) (Prelude.snd l)) Prelude.>> System.IO.hFlush h ; \
     p = System.IO.stdout ; q = System.IO.stderr ; r = Prelude.return Prelude.False ; \
     b = System.IO.hSetBuffering System.IO.stdout ; xd = Prelude.return () ; \
     x s = Prelude.maybe (b System.IO.LineBuffering) (\\ _ -> b System.IO.NoBuffering) s ; \
     f = Prelude.return Prelude.mempty";

/// The definition of `u`, which gives what the payload says of words: nothing, `?` where it may have missed some, or the
/// words as a literal of Haskell.
///
/// `hk` keeps what was said, piece by piece, `hn` how much that is (`hx` is the bound: the rest is not kept, and the payload
/// says `?`), `hs` a stable name of our encoding, by which it is found to be in place still. They are the arguments of the
/// function, since a `let` would make of each as many as there are types. `he` makes an encoder of ours out of any.
const HEARING: &str = "hx = Prelude.fromEnum '\\65535' ; hz = Prelude.fromEnum '\\0' ; \
     hj i j = Prelude.mapM (\\ n -> Prelude.fmap Prelude.fst (GHC.IO.Buffer.readCharBuf (GHC.IO.Buffer.bufRaw i) n)) \
     (Prelude.enumFromTo (GHC.IO.Buffer.bufL i) (Prelude.pred j)) Prelude.>>= \\ s -> \
     Data.IORef.readIORef hk Prelude.>>= \\ l -> Data.IORef.writeIORef hk (s : l) ; \
     hl i j = case GHC.IO.Buffer.isEmptyBuffer j of { Prelude.True -> GHC.IO.Buffer.bufR i ; \
     Prelude.False -> GHC.IO.Buffer.bufL j } ; \
     ha i j = Data.IORef.readIORef hn Prelude.>>= \\ n -> case n Prelude.< hx of { Prelude.False -> Prelude.return () ; \
     Prelude.True -> hj i j Prelude.>> (case n Prelude.+ (j Prelude.- GHC.IO.Buffer.bufL i) of { m -> \
     Prelude.seq m (Data.IORef.writeIORef hn m) }) } ; \
     hf t c = case c of { GHC.IO.Encoding.Types.BufferCodec e v k g s -> GHC.IO.Encoding.Types.BufferCodec \
     (\\ i o -> e i o Prelude.>>= \\ x -> case x of { (_, j, _) -> GHC.Conc.Sync.myThreadId Prelude.>>= \\ y -> \
     (case y Prelude.== t of { Prelude.True -> ha i (hl i j) ; Prelude.False -> Prelude.return () }) \
     Prelude.>> Prelude.return x }) v k g s } ; \
     he t u = case u of { GHC.IO.Encoding.Types.TextEncoding n d c -> \
     GHC.IO.Encoding.Types.TextEncoding n d (Prelude.fmap (hf t) c) } ; \
     ho = Data.IORef.writeIORef hk Prelude.mempty Prelude.>> Data.IORef.writeIORef hn hz ; \
     hp = Data.IORef.readIORef hn Prelude.>>= \\ n -> case n Prelude.== hz of { \
     Prelude.True -> Prelude.return Prelude.mempty ; \
     Prelude.False -> Data.IORef.readIORef hk Prelude.>>= \\ l -> ho Prelude.>> Prelude.return (case n Prelude.< hx of { \
     Prelude.True -> Prelude.show (Prelude.concat (Prelude.reverse l)) ; \
     Prelude.False -> '?' : Prelude.mempty }) } ; \
     hi e = GHC.Conc.Sync.myThreadId Prelude.>>= \\ t -> case he t e of { f -> Prelude.seq f \
     (System.Mem.StableName.makeStableName f Prelude.>>= \\ s -> Data.IORef.writeIORef hs (Prelude.Just s) Prelude.>> \
     System.IO.hSetEncoding System.IO.stderr f Prelude.>> ho Prelude.>> Prelude.return ('?' : Prelude.mempty)) } ; \
     u = System.IO.hGetEncoding System.IO.stderr Prelude.>>= \\ e -> case e of { \
     Prelude.Nothing -> ho Prelude.>> Prelude.return ('?' : Prelude.mempty) ; \
     Prelude.Just e -> System.Mem.StableName.makeStableName e Prelude.>>= \\ s -> Data.IORef.readIORef hs Prelude.>>= \\ f -> \
     case Prelude.maybe Prelude.False (System.Mem.StableName.eqStableName s) f of { Prelude.True -> hp ; \
     Prelude.False -> hi e } }";

/// The line that installs the prompt function. It holds no literal but characters and names everything in full, so
/// that it compiles under RebindableSyntax, OverloadedStrings and OverloadedLists too; it is masked, so that an
/// interrupt cannot tear a marker. The program's own output comes first, and where it closed a stream, GHCi ends here
/// as at its own prompt. Letters beyond ASCII in the name of a module are told as `?`. What is the same at every prompt
/// stands outside of the function, which is byte code and would build it anew; and what only the next command needs comes
/// after the markers: the buffering, and the wait.
pub(super) fn function(nonce: &Nonce, parts: Parts) -> String {
    let (stop, _) = stops(nonce);
    let (nonce, asks, stop) = (characters(&format!("{} ", nonce.as_str())), characters(ANNOUNCED), characters(&stop));
    let nothing = "u = Prelude.return Prelude.mempty";
    let (hears, parts, hearing) = match parts {
        Parts::Hearing => (true, own_handles(), HEARING),
        Parts::OwnHandles => (false, own_handles(), nothing),
        Parts::RawBuffers => (false, RAW_BUFFERS.to_owned(), nothing),
    };
    let (open, close) = if hears {
        let new = "(System.IO.Unsafe.unsafePerformIO (Data.IORef.newIORef";
        (
            "(\\ hk hn hs -> ",
            format!(") {new} Prelude.mempty)) {new} (Prelude.fromEnum '\\0'))) {new} Prelude.Nothing))"),
        )
    } else {
        ("", String::new())
    };
    format!(
        ":set prompt-function {open}let {{ \
         k = {nonce} ; a = {asks} ; hv = {stop} ; z = '\\n' : Prelude.mempty ; o = System.IO.stdout ; \
         c l = case l Prelude.< '\\DEL' of {{ Prelude.True -> l ; Prelude.False -> '?' }} ; {parts} ; {hearing} ; \
         hy = System.Environment.lookupEnv hv Prelude.>>= Prelude.maybe u \
         (\\ _ -> System.Environment.unsetEnv hv Prelude.>> Prelude.fmap ('!' :) u) }} in \
         \\ms n -> let {{ m = k Prelude.++ Prelude.show n }} in Control.Exception.uninterruptibleMask_ ( \
         System.IO.hFlush o Prelude.>> System.IO.hFlush System.IO.stderr Prelude.>> xd Prelude.>> f Prelude.>>= (\\ y -> \
         w p (m Prelude.++ (' ' : (Prelude.map c (Prelude.concat ms) Prelude.++ z))) Prelude.>> \
         hy Prelude.>>= (\\ s -> w q (m Prelude.++ (' ' : (y Prelude.++ (s Prelude.++ z)))))) Prelude.>> \
         System.Environment.lookupEnv a Prelude.>>= (\\ s -> \
         Prelude.maybe (Prelude.return ()) (\\ _ -> System.Environment.unsetEnv a) s Prelude.>> x s)) Prelude.>> \
         r Prelude.>> Prelude.return Prelude.mempty{close}\n"
    )
}
