//! The formula for Homebrew. It installs the programs of npm's packages, which a release on GitHub has too.

use std::path::Path;

use anyhow::{Result, bail};

use crate::binary::{Platform, released};
use crate::product::{Product, repository};
use crate::{files, npm};

/// Writes the formula into a folder that has the packages of all released platforms.
pub(crate) fn write(product: &Product, folder: &Path) -> Result<()> {
    let mut downloads = Vec::new();
    for platform in released() {
        let bytes = files::read_bytes(&folder.join(npm::platform_file(product, platform)))?;
        downloads.push((platform, hex::encode(files::sha256(&bytes))));
    }
    files::put(&folder.join("hob.rb"), formula(product, &downloads)?.as_bytes(), false)
}

fn formula(product: &Product, downloads: &[(&Platform, String)]) -> Result<String> {
    let license = match product.license.split(" OR ").collect::<Vec<_>>()[..] {
        [one, other] => format!("any_of: [{one:?}, {other:?}]"),
        _ => bail!("the formula has no form for the license {}", product.license),
    };
    let system = |os: &str, block: &str| {
        let machines = downloads.iter().filter(|(platform, _)| platform.os == os).map(|(platform, hash)| {
            let machine = if platform.cpu == "arm64" { "on_arm" } else { "on_intel" };
            let file = npm::platform_file(product, platform);
            format!(
                "    {machine} do\n      url \"{}/releases/download/v{}/{file}\"\n      sha256 \"{hash}\"\n    end\n",
                repository(),
                product.version
            )
        });
        let machines = machines.collect::<String>();
        if machines.is_empty() { String::new() } else { format!("  {block} do\n{machines}  end\n\n") }
    };
    let (macos, linux) = (system("darwin", "on_macos"), system("linux", "on_linux"));
    let only = if macos.is_empty() { "  depends_on :linux\n\n" } else { "" };
    Ok(format!(
        r##"class Hob < Formula
  desc "Local MCP server for coding agents"
  homepage "{}"
  version "{}"
  license {license}

{only}{macos}{linux}  def install
    bin.install "hob"
  end

  test do
    assert_equal "hob #{{version}}", shell_output("#{{bin}}/hob --version").strip
  end
end
"##,
        repository(),
        product.version
    ))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::product::OWNER;

    #[test]
    fn each_released_platform_has_its_file_and_hash() {
        let product = Product { version: "1.2.3".to_owned(), license: "Apache-2.0 OR MIT".to_owned() };
        let folder = tempfile::tempdir().unwrap();
        assert!(write(&product, folder.path()).is_err(), "a platform is missing");
        for platform in released() {
            files::put(&folder.path().join(npm::platform_file(&product, platform)), platform.name.as_bytes(), false)
                .unwrap();
        }
        write(&product, folder.path()).unwrap();
        let formula = std::fs::read_to_string(folder.path().join("hob.rb")).unwrap();
        expect![[r##"
            class Hob < Formula
              desc "Local MCP server for coding agents"
              homepage "https://github.com/ACCOUNT/hob"
              version "1.2.3"
              license any_of: ["Apache-2.0", "MIT"]

              depends_on :linux

              on_linux do
                on_intel do
                  url "https://github.com/ACCOUNT/hob/releases/download/v1.2.3/hob-mcp-linux-x64-1.2.3.tgz"
                  sha256 "2cc29203eb8483cf10595a15013d5b2e6305a1472b38c933ef0cbaaa27989735"
                end
                on_arm do
                  url "https://github.com/ACCOUNT/hob/releases/download/v1.2.3/hob-mcp-linux-arm64-1.2.3.tgz"
                  sha256 "17d46d4991b2edd5e445342a72ba0cb7cf09e4849b5e98c16408ce11e05c7388"
                end
              end

              def install
                bin.install "hob"
              end

              test do
                assert_equal "hob #{version}", shell_output("#{bin}/hob --version").strip
              end
            end
        "##]]
        .assert_eq(&formula.replace(&format!("/{OWNER}/"), "/ACCOUNT/"));
    }
}
