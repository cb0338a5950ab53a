#include "encoding/tar.h"

#include <gtest/gtest.h>

#include <array>

#include "base/process.h"
#include "testing/temp_dir.h"

namespace mist::encoding {
namespace {

const std::vector<TarFile> kFiles{
    {"Chart.yaml", "name: ch\n"},
    {"templates/" + std::string(150, 'd') + "/" + std::string(150, 'e') + "/a.yaml", std::string(1000, 'x')},
    {"ü/empty", ""}};

std::string run(std::vector<std::string> arguments, std::string input = {}) {
  Command command;
  command.program = "tar";
  command.arguments = std::move(arguments);
  command.input = std::move(input);
  command.env["LC_ALL"] = "C.UTF-8";
  const auto result = HostProcessRunner().run(command, Context());
  EXPECT_TRUE(result.ok() && result->exit_code == 0)
      << (result.ok() ? result->err : result.error().to_line());
  return result.ok() ? result->out : "";
}

std::string refusal(std::string_view archive, const TarLimits& limits = {}) {
  const auto files = read_tar(archive, "x.tar", limits);
  return files.ok() ? "accepted" : files.error().to_line();
}

TEST(Tar, ReadsWhatItWrote) {
  const auto files = read_tar(write_tar(kFiles), "x.tar");
  ASSERT_TRUE(files.ok()) << files.error().to_line();
  EXPECT_EQ(*files, kFiles);
}

TEST(Tar, TheSystemsTarReadsIt) {
  EXPECT_EQ(run({"-xO", "-f", "-", "Chart.yaml"}, write_tar(kFiles)), "name: ch\n");
  EXPECT_NE(run({"-t", "--quoting-style=literal", "-f", "-"}, write_tar(kFiles)).find("ü/empty\n"),
            std::string::npos);
}

TEST(Tar, ReadsTheFormatsOfTheSystemsTar) {
  const mist::testing::TempDir temp;
  for (const TarFile& file : kFiles)
    ASSERT_TRUE(HostFileSystem().write(temp.path() / file.path, file.bytes).ok());
  for (const char* format : {"gnu", "posix"}) {
    const std::string archive = run(
        {"-c", std::string("--format=") + format, "--sort=name", "-C", temp.path().string(), "-f", "-", "."});
    const auto files = read_tar(archive, "x.tar");
    ASSERT_TRUE(files.ok()) << files.error().to_line();
    EXPECT_EQ(*files, kFiles) << format;
  }
}

TEST(Tar, RefusesLinksAndDevices) {
  const mist::testing::TempDir temp;
  std::filesystem::create_symlink("/etc/passwd", temp.path() / "link");
  EXPECT_NE(refusal(run({"-c", "-C", temp.path().string(), "-f", "-", "link"})).find("link is a link"),
            std::string::npos);
  EXPECT_NE(refusal(run({"-c", "-C", "/dev", "-f", "-", "null"})).find("neither a file nor a directory"),
            std::string::npos);
}

TEST(Tar, RefusesDamage) {
  const std::string whole = write_tar(kFiles);
  EXPECT_NE(refusal(""), "accepted");
  EXPECT_NE(refusal("no archive").find("middle of a header"), std::string::npos);
  for (const std::size_t length :
       {std::size_t{511}, std::size_t{700}, std::size_t{1024}, whole.size() - 1024})
    EXPECT_NE(refusal(whole.substr(0, length)), "accepted") << length;
  std::string changed = whole;
  changed[0] ^= 1;
  EXPECT_NE(refusal(changed).find("checksum"), std::string::npos);
}

TEST(Tar, PathsAreAsLongAsThoseOfFiles) {
  std::string dots;
  for (int i = 0; i < 2000; ++i) dots += "./";
  EXPECT_EQ(read_tar(write_tar({{{dots + "a", "x"}}}), "x.tar")->front().path, "a");
  EXPECT_NE(refusal(write_tar({{{dots + dots + "a", "x"}}})).find("a file's path is too long"),
            std::string::npos);
}

TEST(Tar, IsWrittenAndReadBlockByBlock) {
  const std::vector<TarFile> files{{"index.json", "{}"}, {"empty", ""}, {"block", std::string(512, 'x')}};
  const std::string whole = write_tar(files);
  std::string pieces;
  for (const TarFile& file : files) {
    pieces += tar_header(file.path, file.bytes.size()) + file.bytes;
    pieces.append(tar_padding(file.bytes.size()), '\0');
  }
  EXPECT_EQ(pieces + tar_end(), whole);
  std::size_t offset = 0;
  for (const TarFile& file : files) {
    const auto header = read_tar_header(std::string_view(whole).substr(offset, kTarBlock), "x.tar");
    ASSERT_TRUE(header.ok() && *header) << offset;
    EXPECT_EQ((*header)->path, file.path);
    EXPECT_EQ((*header)->size, file.bytes.size());
    EXPECT_TRUE((*header)->is_file);
    offset += kTarBlock + file.bytes.size() + tar_padding(file.bytes.size());
  }
  EXPECT_FALSE(read_tar_header(std::string_view(whole).substr(offset, kTarBlock), "x.tar")->has_value());
  std::string damaged = whole.substr(0, kTarBlock);
  damaged[0] ^= 1;
  EXPECT_FALSE(read_tar_header(damaged, "x.tar").ok());
  EXPECT_FALSE(read_tar_header(std::string_view(whole).substr(0, 100), "x.tar").ok());
}

TEST(Tar, HasBounds) {
  EXPECT_NE(refusal(write_tar(kFiles), {.bytes = 1000, .files = 10}).find("more than 1000 bytes"),
            std::string::npos);
  EXPECT_NE(refusal(write_tar(kFiles), {.bytes = 10'000, .files = 2}).find("more than 2 files"),
            std::string::npos);
}

}  // namespace
}  // namespace mist::encoding
