#include "catalog/previews.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/gzip.h"
#include "encoding/json.h"
#include "package/guests_for_tests.h"
#include "registry/package_files.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"
#include "wasm/binary.h"
#include "wasm/test_support.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

// In place of an engine of templates: renders nothing, and holds much that packs well.
std::string small_engine() {
  return wasm::assemble(fmt::format(R"((module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 2)
    (data (i32.const 16) "{{\"apiVersion\":\"mistletoe.dev/v1\",\"kind\":\"MistResult\",\"data\":{{\"result\":\"Ok\"}}}}")
    (data (i32.const 1024) "{}")
    (func (export "mistletoe_prepare"))
    (func (export "mistletoe_generate")
      (i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const 4) (i32.const 76))
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))))",
                                    std::string(20'000, ' ')));
}

class PreviewsTest : public ::testing::Test {
 protected:
  PreviewsTest() {
    const std::string engine = small_engine();
    digest_ = crypto::sha256(engine).hex();
    digests_[0] = {.name = "jinja", .sha256 = digest_};
    EXPECT_TRUE(files_.write(dir_.path() / "engines/jinja.wasm", engine).ok());
    open();
  }

  void open() {
    package::RendererOptions options;
    options.engines = package::EngineStore(dir_.path() / "engines", digests_);
    previews_.reset();
    previews_ = std::make_unique<Previews>(Previews::Dependencies{.files = files_,
                                                                  .packages = packages_,
                                                                  .shared = shared_,
                                                                  .directory = dir_.path() / "previews",
                                                                  .options = options,
                                                                  .events = events_,
                                                                  .again = std::chrono::milliseconds(1)});
  }

  Version version_of(std::vector<registry::PackageFile> files) {
    const registry::PackageTree tree{std::move(files)};
    Version version{{.package = "shop", .version = "1.0.0"}};
    version.digest = packages_.put(tree.encode())->str();
    return version;
  }
  static std::vector<registry::PackageFile> kube(std::string template_text = "a: {{ size }}\n") {
    return {{"K3.yaml", "name: shop\nversion: 1.0.0\nvalues: {size: 3}\n"},
            {"manifests/a.yaml.j2", std::move(template_text)}};
  }

  void expect_ready_soon(const Version& version) {
    Preview now = made(version);
    for (int i = 0; i < 600 && now.state != PreviewState::Ready; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      now = made(version);
    }
    EXPECT_EQ(now.state, PreviewState::Ready) << now.problem;
  }
  Preview made(const Version& version) {
    for (int i = 0; i < 600; ++i) {
      Preview preview = previews_->of(version);
      if (preview.state != PreviewState::Preparing) return preview;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ADD_FAILURE() << "it is never ready";
    return {};
  }
  Version version_of_module(const package::Source& module) {
    Version version{{.package = "shop", .version = "1.0.0"}};
    version.digest = packages_.put(**std::get<wasm::ModuleBytes>(module.content).bytes())->str();
    return version;
  }
  std::string problem(std::vector<registry::PackageFile> files) {
    return problem_of(version_of(std::move(files)));
  }
  std::string problem_of(const package::Source& module) { return problem_of(version_of_module(module)); }
  std::string problem_of(const Version& version) {
    const Preview preview = made(version);
    EXPECT_EQ(preview.state, PreviewState::Impossible);
    return preview.problem;
  }

  mist::testing::TempDir dir_;
  HostFileSystem files_;
  mist::testing::RecordedEvents events_;
  FileBlobs packages_{files_, dir_.path() / "blobs"};
  SharedBytes shared_;
  std::string digest_;
  std::array<package::EngineDigest, 1> digests_;
  std::unique_ptr<Previews> previews_;
};

TEST_F(PreviewsTest, AVersionIsAModuleWithItsFilesAndNamesItsEngine) {
  const Version version = version_of(kube());
  const Preview preview = made(version);
  ASSERT_EQ(preview.state, PreviewState::Ready) << preview.problem;
  const auto module = previews_->bytes(preview.module.digest);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ((*module)->size(), preview.module.bytes);
  const auto section = wasm::custom_section(crypto::as_bytes(**module), "m", wasm::kFilesSection);
  ASSERT_TRUE(section.ok() && *section);
  EXPECT_THAT(*encoding::gunzip(**section, 1 << 20), HasSubstr("a: {{ size }}"));
  const auto runs = previews_->runs(version, "shop 1.0.0", Value::object({{"size", Value(std::int64_t{5})}}));
  ASSERT_TRUE(runs.ok()) << runs.error().to_line();
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->front().run.engine, "jinja");
  const auto input = encoding::parse_json(runs->front().run.input);
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(encoding::to_json(*input->find("data")), R"({"size":5,"name":"shop"})");
  EXPECT_EQ(input->string_at({"release", "namespace"}), "default");
}

TEST_F(PreviewsTest, AnEngineCanNotGrowBeyondItsMemoryAndIsPacked) {
  const Version version = version_of(kube());
  made(version);
  const auto runs = previews_->runs(version, "shop 1.0.0", Value::object());
  ASSERT_TRUE(runs.ok()) << runs.error().to_line();
  const ServedModule& engine = runs->front().engine;
  const auto bytes = previews_->bytes(engine.digest);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(**bytes, *wasm::with_memory_limit(crypto::as_bytes(small_engine()), "e", Previews::kMemoryBytes));
  ASSERT_FALSE(engine.packed.empty());
  EXPECT_EQ(previews_->packed_digest(engine.digest), engine.packed);
  EXPECT_LT(engine.transfer(), engine.bytes / 10);
  EXPECT_EQ(*encoding::gunzip(**previews_->bytes(engine.packed), 1 << 20), **bytes);
  EXPECT_EQ(*previews_->bytes(engine.packed), *previews_->bytes(engine.packed));
}

TEST_F(PreviewsTest, ModulesCountWithWhateverElseIsSent) {
  const Preview preview = made(version_of(kube()));
  ASSERT_EQ(preview.state, PreviewState::Ready) << preview.problem;
  const auto module = previews_->bytes(preview.module.digest);
  ASSERT_TRUE(module.ok());
  const auto held = shared_.get(
      "module " + preview.module.digest,
      []() -> Result<std::uint64_t> { return error(ErrorKind::NotFound, "no size"); },
      []() -> Result<std::string> { return error(ErrorKind::NotFound, "no bytes"); });
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(*held, *module);
}

TEST_F(PreviewsTest, SaysWhyThereIsNone) {
  EXPECT_THAT(problem({{"a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"}}),
              HasSubstr("it is plain Kubernetes YAML"));
  std::vector<registry::PackageFile> calls = kube();
  calls.push_back({"mistletoe.yaml",
                   "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: shop}\nspec: {version: "
                   "1.0.0, engine: jinja, dependencies: [{name: other, package: a/b}]}\n"});
  EXPECT_EQ(problem(std::move(calls)), "it calls other packages");
  std::vector<registry::PackageFile> wordy = kube();
  wordy.push_back({"values.yaml", "a: " + std::string(600'000, 'a') + "\n"});
  EXPECT_THAT(problem(std::move(wordy)), HasSubstr("more than 524288"));
  std::string noise;
  for (std::uint64_t i = 0, state = 1; i < (10u << 20); ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    noise.push_back(static_cast<char>(state >> 56));
  }
  EXPECT_THAT(problem(kube(std::move(noise))), HasSubstr("more than 8388608"));
  EXPECT_EQ(previews_->of({{.package = "shop", .version = "1.0.0"}}).problem, "its files couldn't be read");
}

// A program that says much, and that pays to pack.
package::Source program(std::string_view spec =
                            "{version: 1.0.0, inputs: {type: object, properties: {size: {type: "
                            "integer, default: 3}}}}") {
  return package::described(package::saying("kind: ConfigMap # " + std::string(20'000, 'x') + "\n"), "shop",
                            spec);
}

TEST_F(PreviewsTest, AModuleRunsByItselfWithABoundOnItsMemory) {
  const package::Source source = program();
  const Version version = version_of_module(source);
  const Preview preview = made(version);
  ASSERT_EQ(preview.state, PreviewState::Ready) << preview.problem;
  const std::string bytes = **std::get<wasm::ModuleBytes>(source.content).bytes();
  EXPECT_EQ(**previews_->bytes(preview.module.digest),
            *wasm::with_memory_limit(crypto::as_bytes(bytes), "m", Previews::kMemoryBytes));
  ASSERT_FALSE(preview.module.packed.empty());
  EXPECT_EQ(previews_->packed_digest(preview.module.digest), preview.module.packed);
  const auto runs = previews_->runs(version, "shop 1.0.0", Value::object({{"size", Value(std::int64_t{5})}}));
  ASSERT_TRUE(runs.ok()) << runs.error().to_line();
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->front().run.engine, "");
  EXPECT_EQ(runs->front().engine.digest, preview.module.digest);
  const auto input = encoding::parse_json(runs->front().run.input);
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(encoding::to_json(*input->find("data")), R"({"size":5,"name":"shop"})");
  EXPECT_EQ(previews_->runs(version, "shop", Value::object({{"size", Value("x")}})).error().kind,
            ErrorKind::Invalid);
  // After a restart it is served packed, too.
  open();
  EXPECT_EQ(made(version).module.packed, preview.module.packed);
  EXPECT_EQ(previews_->packed_digest(preview.module.digest), preview.module.packed);
}

TEST_F(PreviewsTest, AThinModuleIsItsFilesAndTheEngineThatIsHere) {
  package::Files files;
  for (const registry::PackageFile& each : kube()) files.emplace(each.path, each.bytes);
  package::RendererOptions options;
  options.engines = package::EngineStore(dir_.path() / "engines", digests_);
  package::Renderer renderer(options, events_);
  const package::Source directory{"./shop", "shop", "1.0.0", "sha256:0", files};
  const auto thin = renderer.build(directory, package::BuiltEngine::Named, Context());
  ASSERT_TRUE(thin.ok()) << thin.error().to_line();
  // The rest of it stays here: no browser gets it.
  const std::string more = *wasm::with_custom_section(crypto::as_bytes(*thin), "m", "more", "of a stranger");
  const Version version = version_of_module({"./shop.wasm", "shop", "1.0.0", "", wasm::ModuleBytes(more)});
  const Preview preview = made(version);
  ASSERT_EQ(preview.state, PreviewState::Ready) << preview.problem;
  EXPECT_EQ(**previews_->bytes(preview.module.digest), *thin);
  const auto runs = previews_->runs(version, "shop 1.0.0", Value::object());
  ASSERT_TRUE(runs.ok()) << runs.error().to_line();
  EXPECT_EQ(runs->front().run.engine, "jinja");
  EXPECT_THAT(
      problem_of(package::described(
          {"./shop.wasm", "shop", "", "", wasm::ModuleBytes(*thin)}, "shop",
          fmt::format("{{version: 1.0.0, engine: jinja, engineDigest: 'sha256:{}'}}", std::string(64, '0')))),
      HasSubstr("it needs the engine jinja sha256:000"));
}

TEST_F(PreviewsTest, SaysWhyThereIsNoneOfAModule) {
  EXPECT_EQ(problem_of(program("{version: 1.0.0, dependencies: [{name: other, package: a/b}]}")),
            "it calls other packages");
  EXPECT_EQ(problem_of(program("{version: 1.0.0, requires: [package.call]}")),
            "it needs package.call, which a preview doesn't have");
  const auto coded = [&](std::string_view wat) {
    return package::described({"./shop.wasm", "shop", "", "", wasm::assemble(wat)}, "shop",
                              "{version: 1.0.0}");
  };
  EXPECT_THAT(problem_of(coded("(module (memory (export \"memory\") 1) (func (export \"run\")))")),
              HasSubstr("exports neither _start nor mistletoe_generate"));
  EXPECT_THAT(problem_of(coded("(module (memory (export \"_start\") 1) (func (export \"run\")))")),
              HasSubstr("exports neither _start nor mistletoe_generate"));
  EXPECT_THAT(problem_of(coded("(module (memory (export \"memory\") 20000) (func (export \"_start\")))")),
              HasSubstr("begins with 20000 pages"));
  EXPECT_THAT(problem_of(coded("(module (func (export \"_start\")))")), HasSubstr("it has none"));
  std::string tables;
  for (int i = 0; i < 5; ++i) tables += "(table 1 funcref)";
  EXPECT_EQ(
      problem_of(coded("(module (memory (export \"memory\") 1) (func (export \"_start\"))" + tables + ")")),
      "its module has more than 4 tables");
  const auto with_section = [&](std::string_view section) {
    const auto plain = coded("(module (memory (export \"memory\") 1) (func (export \"_start\")))");
    std::string bytes = **std::get<wasm::ModuleBytes>(plain.content).bytes();
    return problem_of(
        package::Source{"./shop.wasm", "shop", "", "", wasm::ModuleBytes(bytes.append(section))});
  };
  EXPECT_THAT(with_section(std::string_view("\1\3\1\x5f\0", 5)), HasSubstr("other things than functions"))
      << "a struct";
  EXPECT_THAT(with_section(std::string_view("\x0d\3\1\0\0", 5)), HasSubstr("exceptions")) << "a tag";
  EXPECT_EQ(made(version_of_module(
                     coded("(module (type (func (param i32 f64 v128 externref) (result i64 funcref))) "
                           "(memory (export \"memory\") 1) (func (export \"_start\")))")))
                .state,
            PreviewState::Ready);
  const std::string component("\0asm\x0d\0\1\0", 8);
  Version version{{.package = "shop", .version = "1.0.0"}};
  version.digest = packages_.put(component)->str();
  EXPECT_EQ(problem_of(version), "it is a WebAssembly component, and browsers run core modules only");
  version.digest = packages_.put(std::string(wasm::kEmptyModule))->str();
  EXPECT_EQ(problem_of(version), "it has no section mistletoe.package");
}

TEST_F(PreviewsTest, IsMadeOnceAndKept) {
  const Version version = version_of(kube());
  const Preview first = made(version);
  ASSERT_EQ(first.state, PreviewState::Ready);
  // Nothing is left to make it of.
  ASSERT_TRUE(files_.remove_all(dir_.path() / "blobs").ok());
  open();
  const Preview again = made(version);
  EXPECT_EQ(again.state, PreviewState::Ready) << again.problem;
  EXPECT_EQ(again.module.digest, first.module.digest);
}

TEST_F(PreviewsTest, WhatFailedForReasonsOfTheCatalogIsTriedAgain) {
  const Version version = version_of(kube());
  const Path engine = dir_.path() / "engines/jinja.wasm";
  const std::string bytes = *files_.read(engine);
  ASSERT_TRUE(files_.remove_all(engine).ok());
  const Preview failed = made(version);
  EXPECT_EQ(failed.state, PreviewState::Impossible);
  EXPECT_EQ(failed.problem, "the catalog can't make it now");
  ASSERT_TRUE(files_.write(engine, bytes).ok());
  expect_ready_soon(version);
}

TEST_F(PreviewsTest, DamagedBytesAreNoPropertyOfTheVersion) {
  const Version version = version_of(kube());
  const Path place = packages_.place_of(*crypto::Digest::parse(version.digest));
  const std::string bytes = *files_.read(place);
  ASSERT_TRUE(files_.write(place, "others").ok());
  EXPECT_EQ(problem_of(version), "the catalog can't make it now");
  ASSERT_TRUE(files_.write(place, bytes).ok());
  expect_ready_soon(version);
}

TEST_F(PreviewsTest, AnotherEngineMakesAnotherPreview) {
  const Version version = version_of(kube());
  const Preview first = made(version);
  const std::string other =
      *wasm::with_custom_section(crypto::as_bytes(small_engine()), "e", "more", "another engine");
  digest_ = crypto::sha256(other).hex();
  digests_[0].sha256 = digest_;
  ASSERT_TRUE(files_.write(dir_.path() / "engines/jinja.wasm", other).ok());
  open();
  const Preview second = made(version);
  ASSERT_EQ(second.state, PreviewState::Ready) << second.problem;
  EXPECT_NE(second.module.digest, first.module.digest) << "it names its engine";
}

TEST_F(PreviewsTest, KnowsOfWhichVersionsAModuleIsAlsoAfterARestart) {
  const Version version = version_of_module(program());
  Version other = version;
  other.version = "1.0.1";
  const Preview preview = made(version);
  EXPECT_THAT(previews_->made_of(preview.module.digest), Optional(ElementsAre(VersionName{"shop", "1.0.0"})));
  ASSERT_EQ(made(other).module.digest, preview.module.digest) << "the same bytes";
  const Version thin = version_of(kube());
  made(thin);
  const auto runs = previews_->runs(thin, "shop 1.0.0", Value::object());
  ASSERT_TRUE(runs.ok()) << runs.error().to_line();
  const ServedModule engine = runs->front().engine;
  for (const bool is_restarted : {false, true}) {
    if (is_restarted) open();
    for (const std::string& digest : {preview.module.digest, preview.module.packed, preview.facts})
      EXPECT_THAT(previews_->made_of(digest),
                  Optional(ElementsAre(VersionName{"shop", "1.0.0"}, VersionName{"shop", "1.0.1"})));
    EXPECT_THAT(previews_->made_of(engine.digest), Optional(IsEmpty()));
    EXPECT_THAT(previews_->made_of(engine.packed), Optional(IsEmpty()));
    EXPECT_EQ(previews_->made_of(version.digest), std::nullopt);
  }
}

TEST_F(PreviewsTest, WhatAnOlderProgramKeptIsMadeAnew) {
  const Version version = version_of(kube());
  const std::string digest = made(version).module.digest;
  const Path directory = dir_.path() / "previews";
  for (const DirectoryEntry& each : *files_.list(directory)) {
    if (!each.name.ends_with(".json")) continue;
    // It didn't say of which version it is.
    auto value = encoding::parse_json(*files_.read(directory / each.name));
    ASSERT_TRUE(value.ok());
    EXPECT_TRUE(value->erase("package"));
    EXPECT_TRUE(value->erase("version"));
    ASSERT_TRUE(files_.write(directory / each.name, encoding::to_json(*value)).ok());
  }
  open();
  EXPECT_EQ(previews_->made_of(digest), std::nullopt);
  EXPECT_EQ(made(version).module.digest, digest);
  EXPECT_THAT(previews_->made_of(digest), Optional(ElementsAre(VersionName{"shop", "1.0.0"})));
}

TEST_F(PreviewsTest, GivesOnlyWhatWasMadeHere) {
  const Version version = version_of(kube());
  made(version);
  EXPECT_EQ(previews_->bytes(version.digest).error().kind, ErrorKind::NotFound) << "the version's own bytes";
  EXPECT_FALSE(previews_->bytes("../../etc/passwd").ok());
}

}  // namespace
}  // namespace mist::catalog
