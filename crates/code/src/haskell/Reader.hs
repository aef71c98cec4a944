{-# LANGUAGE CPP, OverloadedStrings #-}
-- | Reads what GHC and Cabal know of a project, for hob. It is compiled once with each GHC.
--
-- @components DATABASES -- CABAL-FILES@ prints each component of packages, one JSON object a line.
-- @names LIST@ reads the paths of @.hie@ files from a file, one a line, and prints the names of each, one JSON object a line.
module Main (main) where

import qualified Data.ByteString as Bytes
import Data.ByteString.Builder
import qualified Data.ByteString.Lazy as Lazy
import Data.Bits (xor, (.|.))
import Data.Char (isDigit, ord)
import Data.List (foldl', intersperse, isSuffixOf)
import qualified Data.Map as Map
import qualified Data.Set as Set
import Data.Word (Word64)
import System.Environment (getArgs)
import System.Info (compilerVersion)
import Control.Exception (SomeException, evaluate, try)
import Control.Monad (forM_)
import System.Directory (getDirectoryContents)
import GHC.IO.Encoding (setLocaleEncoding)
import System.IO

import Distribution.Compiler (AbiTag (NoAbiTag), CompilerFlavor (GHC), CompilerId (..), unknownCompilerInfo)
import Distribution.ModuleName (ModuleName)
import Distribution.PackageDescription
import Distribution.PackageDescription.Configuration (finalizePD)
import Distribution.PackageDescription.Parsec (parseGenericPackageDescriptionMaybe)
import Distribution.Pretty (prettyShow)
import Distribution.System (buildPlatform)
import Distribution.Types.ComponentRequestedSpec (ComponentRequestedSpec (..))
import Distribution.Version (Version, mkVersion', withinRange)
import Distribution.Text (simpleParse)
#if MIN_VERSION_Cabal(3,6,0)
import Distribution.Utils.Path (getSymbolicPath)
#endif

import GHC.Iface.Ext.Binary (hie_file_result, readHieFile)
#if __GLASGOW_HASKELL__ < 904
import GHC.Iface.Ext.Binary (NameCacheUpdater (..))
import Data.IORef
import GHC.Types.Name.Cache (initNameCache)
import GHC.Types.Unique.Supply (mkSplitUniqSupply)
#else
import GHC.Types.Name.Cache (initNameCache)
#endif
import GHC.Iface.Ext.Types
import GHC.Types.Name hiding (varName)
import GHC.Types.SrcLoc
import GHC.Unit.Module (moduleName, moduleNameString, moduleUnit)
import GHC.Unit.Types (unitString)
#if __GLASGOW_HASKELL__ >= 908
import GHC.Data.FastString (unpackFS)
import GHC.Types.Name.Occurrence (fieldOcc_maybe)
#endif

main :: IO ()
main = do
  hSetBinaryMode stdout True
  hSetBuffering stdout (BlockBuffering Nothing)
  setLocaleEncoding utf8
  args <- getArgs
  case args of
    "components" : rest -> let (directories, files) = break (== "--") rest in components directories (drop 1 files)
    ["names", list] -> readFile list >>= names . lines
    _ -> fail "components DIRECTORIES -- FILES, or names LIST"

-- JSON -------------------------------------------------------------------------------------------------------------

object :: [(Builder, Builder)] -> Builder
object fields = "{" <> commas [string8 "\"" <> name <> "\":" <> value | (name, value) <- fields] <> "}"

array :: [Builder] -> Builder
array all' = "[" <> commas all' <> "]"

commas :: [Builder] -> Builder
commas = mconcat . intersperse ","

text :: String -> Builder
text whole = "\"" <> foldMap escaped whole <> "\""
  where
    escaped c
      | c == '"' || c == '\\' = char7 '\\' <> char7 c
      | ord c < 32 = "\\u" <> word16HexFixed (fromIntegral (ord c))
      | otherwise = charUtf8 c

texts :: [String] -> Builder
texts = array . map text

say :: Builder -> IO ()
say line = hPutBuilder stdout (line <> "\n")

-- Packages ---------------------------------------------------------------------------------------------------------

components :: [FilePath] -> [FilePath] -> IO ()
components directories files = do
  installed <- Map.fromListWith (++) . concat <$> mapM packagesIn directories
  parsed <- mapM (\file -> (,) file . parseGenericPackageDescriptionMaybe <$> Bytes.readFile file) files
  let own = Set.fromList [prettyShow (pkgNameOf generic) | (_, Just generic) <- parsed]
      pkgNameOf = pkgName . package . packageDescription
      satisfied (Dependency name range _) =
        Set.member (prettyShow name) own
          || any (`withinRange` range) (Map.findWithDefault [] (prettyShow name) installed)
      compiler = unknownCompilerInfo (CompilerId GHC (mkVersion' compilerVersion)) NoAbiTag
      requested = ComponentRequestedSpec {testsRequested = True, benchmarksRequested = True}
      final with = finalizePD mempty requested with buildPlatform compiler []
  forM_ parsed $ \(file, generic) -> case generic of
    Nothing -> say (object [("file", text file), ("problem", text "cannot be parsed")])
    Just one -> case final satisfied one of
      Right (description, _) -> mapM_ (say . component installed file description) (buildInfos description)
      -- Some of it may compile although a dependency is missing.
      Left _ -> case final (const True) one of
        Right (description, _) -> mapM_ (say . component installed file description) (buildInfos description)
        Left missing -> say (object [("file", text file), ("problem", text ("needs " ++ unwords (map prettyShow missing)))])

-- | The packages of a database, by the names of its files: @text-1.2.5.0.conf@.
packagesIn :: FilePath -> IO [(String, [Version])]
packagesIn directory = do
  listed <- try (getDirectoryContents directory) :: IO (Either SomeException [FilePath])
  return [(name, [version]) | file <- either (const []) id listed, ".conf" `isSuffixOf` file, Just (name, version) <- [parts file]]
  where
    parts file = split [] (dashed (take (length file - 5) file))
    split before (part : rest)
      | not (null before), Just version <- simpleParse part, all (\c -> isDigit c || c == '.') part =
          Just (concat (intersperse "-" (reverse before)), version)
      | otherwise = split (part : before) rest
    split _ [] = Nothing
    dashed whole = case break (== '-') whole of
      (part, _ : rest) -> part : dashed rest
      (part, []) -> [part]

data Component = Component
  { kind :: String
  , label :: String
  , modules :: [ModuleName]
  , mainFile :: Maybe FilePath
  , info :: BuildInfo
  }

buildInfos :: PackageDescription -> [Component]
buildInfos description =
  [ Component "library" (libraryLabel (libName one)) (explicitLibModules one) Nothing (libBuildInfo one)
  | one <- allLibraries description
  ]
    ++ [Component "executable" (prettyShow (exeName one)) (otherModules (buildInfo one)) (Just (path (modulePath one))) (buildInfo one) | one <- executables description]
    ++ [test one (testInterface one) | one <- testSuites description]
    ++ [benchmark one (benchmarkInterface one) | one <- benchmarks description]
  where
    libraryLabel LMainLibName = ""
    libraryLabel (LSubLibName name) = prettyShow name
    test one (TestSuiteExeV10 _ file) = Component "test" (prettyShow (testName one)) (otherModules (testBuildInfo one)) (Just (path file)) (testBuildInfo one)
    test one (TestSuiteLibV09 _ name) = Component "test" (prettyShow (testName one)) (name : otherModules (testBuildInfo one)) Nothing (testBuildInfo one)
    test one _ = Component "test" (prettyShow (testName one)) (otherModules (testBuildInfo one)) Nothing (testBuildInfo one)
    benchmark one (BenchmarkExeV10 _ file) = Component "benchmark" (prettyShow (benchmarkName one)) (otherModules (benchmarkBuildInfo one)) (Just (path file)) (benchmarkBuildInfo one)
    benchmark one _ = Component "benchmark" (prettyShow (benchmarkName one)) (otherModules (benchmarkBuildInfo one)) Nothing (benchmarkBuildInfo one)
#if MIN_VERSION_Cabal(3,14,0)
    path = getSymbolicPath
#else
    path = id
#endif

component :: Map.Map String [Version] -> FilePath -> PackageDescription -> Component -> Builder
component installed file description one =
  object
    [ ("file", text file)
    , ("package", text (prettyShow (pkgName (package description))))
    , ("version", text (prettyShow (pkgVersion (package description))))
    , ("kind", text (kind one))
    , ("name", text (label one))
    , ("modules", texts (map prettyShow (modules one)))
    , ("main", maybe "null" text (mainFile one))
    , ("directories", texts directories)
    , ("options", texts options)
    , ("dependencies", array (concatMap dependency (targetBuildDepends (info one))))
    , ("installed", texts (filter (`Map.member` installed) [prettyShow name | Dependency name _ _ <- targetBuildDepends (info one)]))
    ]
  where
    flags = info one
#if MIN_VERSION_Cabal(3,6,0)
    directories = map getSymbolicPath (hsSourceDirs flags)
#else
    directories = hsSourceDirs flags
#endif
#if MIN_VERSION_Cabal(3,14,0)
    includes = map getSymbolicPath (includeDirs flags)
#else
    includes = includeDirs flags
#endif
    -- As Cabal does.
    language = maybe "Haskell98" prettyShow (defaultLanguage flags)
    options =
      ["-X" ++ language]
        ++ map (("-X" ++) . prettyShow) (defaultExtensions flags ++ oldExtensions flags)
        ++ cppOptions flags
        ++ map ("-I" ++) includes
        ++ hcOptions GHC flags
    -- A library of the same package is named with it.
    dependency (Dependency name _ libraries) =
      [ object [("package", text (prettyShow name)), ("library", text (inner library))]
      | library <- foldr (:) [] libraries
      ]
    inner LMainLibName = "" :: String
    inner (LSubLibName name) = prettyShow name

-- Names ------------------------------------------------------------------------------------------------------------

names :: [FilePath] -> IO ()
names files = do
  reader <- newReader
  forM_ files $ \file -> do
    -- A file of another version of GHC, or one that is cut off, has no names.
    answer <- try $ do
      line <- toLazyByteString . module' file <$> reader file
      _ <- evaluate (Lazy.length line)
      return line
    case answer of
      Right line -> hPutBuilder stdout (lazyByteString line <> "\n")
      Left problem -> say (object [("hie", text file), ("problem", text (takeWhile (/= '\n') (show (problem :: SomeException))))])

newReader :: IO (FilePath -> IO HieFile)
#if __GLASGOW_HASKELL__ < 904
newReader = do
  supply <- mkSplitUniqSupply 'h'
  cache <- newIORef (initNameCache supply [])
  let update change = atomicModifyIORef' cache change
  return (fmap hie_file_result . readHieFile (NCU update))
#else
newReader = do
  cache <- initNameCache 'h' []
  return (fmap hie_file_result . readHieFile cache)
#endif

module' :: FilePath -> HieFile -> Builder
module' file hie =
  object
    [ ("hie", text file)
    , ("file", text (hie_hs_file hie))
    , ("unit", text (unitString (moduleUnit (hie_module hie))))
    , ("module", text (moduleNameString (moduleName (hie_module hie))))
    , ("length", intDec (Bytes.length source))
    , ("hash", text (show (hash source)))
    , ("names", array [texts [space, unit, from, occ] | (space, unit, from, occ) <- Map.keys number])
    , ("uses", array [array (map intDec [number Map.! key, line, from, to, how]) | (key, line, from, to, how) <- uses])
    , ("evidence", array [array (map (intDec . (number Map.!)) keys) | keys <- evidence])
    ]
  where
    source = hie_hs_src hie
    nodes = concatMap (`nodesOf` []) (Map.elems (getAsts (hie_asts hie)))
    uses = concatMap usesOf nodes
    evidence = concatMap evidenceOf nodes
    number = Map.fromDistinctAscList (zip (Set.toAscList keys') [0 :: Int ..])
    keys' = Set.fromList ([key | (key, _, _, _, _) <- uses] ++ concat evidence)

-- | FNV-1a of 64 bits.
hash :: Bytes.ByteString -> Word64
hash = Bytes.foldl' (\sum' byte -> (sum' `xor` fromIntegral byte) * 1099511628211) 14695981039346656037

-- | Namespace, unit, module, name; for a local name no unit, and its place.
type Key = (String, String, String, String)

nodesOf :: HieAST a -> [HieAST a] -> [HieAST a]
nodesOf node rest = node : foldr nodesOf rest (nodeChildren node)

-- | A name, its line, its first column, the column after it, and what it does there. What takes several lines ends where it begins.
usesOf :: HieAST a -> [(Key, Int, Int, Int, Int)]
usesOf node =
  [ (keyOf name, srcSpanStartLine place, srcSpanStartCol place, if isLine then srcSpanEndCol place else srcSpanStartCol place, how)
  | (Right name, details) <- written node
  , let how = foldl' (.|.) 0 (map context (Set.toList (identInfo details)))
  , isLine && how /= 0 || how == 128
  ]
  where
    place = nodeSpan node
    isLine = srcSpanStartLine place == srcSpanEndLine place

-- | Evidence that is made of other evidence: its name, and theirs.
evidenceOf :: HieAST a -> [[Key]]
evidenceOf node =
  [ map keyOf (name : getEvBindDeps made)
  | (Right name, details) <- written node
  , EvidenceVarBind (EvLetBind made) _ _ <- Set.toList (identInfo details)
  ]

-- | What stands in the source, without what GHC made from it.
written :: HieAST a -> [(Identifier, IdentifierDetails a)]
written node = case Map.lookup SourceInfo (getSourcedNodeInfo (sourcedNodeInfo node)) of
  Just one -> Map.toList (nodeIdentifiers one)
  Nothing -> []

-- | 1 a use, 2 a binding, 4 in an import or export, 8 the name of a field, 16 a method in an instance, 32 a declaration, 64 evidence
-- of a class, 128 an instance.
context :: ContextInfo -> Int
context one = case one of
  Use -> 1
  MatchBind -> 2
  IEThing _ -> 4
  TyDecl -> 2
  ValBind InstanceBind _ _ -> 16
  ValBind _ ModuleScope _ -> 32
  ValBind {} -> 2
  PatternBind {} -> 2
  ClassTyDecl _ -> 32
  Decl _ _ -> 32
  TyVarBind _ _ -> 2
  RecField RecFieldDecl _ -> 32
  RecField _ _ -> 8
  EvidenceVarUse -> 64
  EvidenceVarBind (EvInstBind _ _) _ _ -> 128
  _ -> 0

keyOf :: Name -> Key
keyOf name = case nameModule_maybe name of
  Just from -> (space, unitString (moduleUnit from), moduleNameString (moduleName from), occ)
  -- Evidence has no place of its own.
  Nothing | '$' : _ <- occ -> (space, "", show (nameUnique name), occ)
  Nothing -> (space, "", place (nameSrcSpan name), occ)
  where
    occName = nameOccName name
    occ = occNameString occName
    space
      | isDataOcc occName = "d"
      | isTcOcc occName = "t"
      | isTvOcc occName = "a"
#if __GLASGOW_HASKELL__ >= 908
      | Just parent <- fieldOcc_maybe occName = "f" ++ unpackFS parent
#endif
      | otherwise = "v"
    place (RealSrcSpan one _) = show (srcSpanStartLine one) ++ ":" ++ show (srcSpanStartCol one)
    place _ = ""
