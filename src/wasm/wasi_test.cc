#include "wasm/wasi.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/text.h"

namespace mist::wasm {
namespace {

GuestSystem system_with_files() {
  GuestSystem system;
  system.wall_clock = WallTime(std::chrono::seconds(1'700'000'000));
  auto tree =
      FileTree::make({{"Chart.yaml", "name: shop\n"}, {"templates/a.yaml", "a"}, {"templates/b.yaml", "b"}});
  MIST_CHECK(tree.ok());
  system.files = std::make_shared<const FileTree>(*std::move(tree));
  return system;
}

// Calls WASI on a plain buffer.
class WasiTest : public ::testing::Test {
 protected:
  Errno call(std::string_view name, std::vector<std::uint64_t> arguments) {
    const WasiFunction* const function = find_wasi_function(name);
    MIST_CHECK(function != nullptr);
    MIST_CHECK(arguments.size() == function->parameters.size());
    return function->call(wasi, memory, arguments);
  }
  template <typename T>
  T at(std::uint64_t address) {
    return *memory.get<T>(address);
  }
  std::uint64_t put(std::uint64_t address, std::string_view text) {
    MIST_CHECK(memory.put_text(address, text));
    return text.size();
  }
  // An iovec at `address`.
  void vector(std::uint64_t address, std::uint32_t target, std::uint32_t length) {
    MIST_CHECK(memory.put<std::uint32_t>(address, target) && memory.put<std::uint32_t>(address + 4, length));
  }
  Errno open(std::string_view path, std::uint64_t flags = 0, std::uint64_t rights = 2,
             std::uint64_t descriptor = 3) {
    const std::uint64_t length = put(1000, path);
    return call("path_open", {descriptor, 0, 1000, length, flags, rights, 0, 0, 500});
  }
  std::string read_all(std::uint64_t descriptor) {
    vector(0, 2000, 4096);
    EXPECT_EQ(call("fd_read", {descriptor, 0, 1, 8}), Errno::Success);
    return std::string(*memory.text(2000, at<std::uint32_t>(8)));
  }

  std::vector<std::byte> buffer = std::vector<std::byte>(65536);
  GuestMemory memory{buffer};
  Limits limits;
  Wasi wasi{system_with_files(), limits, "the input", {"package", "x"}};
};

TEST_F(WasiTest, HasAllOfPreview1) {
  EXPECT_EQ(wasi_functions().size(), 46U);
  for (const WasiFunction& each : wasi_functions()) {
    EXPECT_EQ(find_wasi_function(each.name), &each);
    EXPECT_LE(each.parameters.size(), kMaxWasiParameters);
    EXPECT_EQ(each.parameters.find_first_not_of("iI"), std::string_view::npos);
  }
  EXPECT_EQ(find_wasi_function("sock_open"), nullptr);
  EXPECT_EQ(find_wasi_function(""), nullptr);
}

TEST_F(WasiTest, SurvivesAnyArgumentsToAnyFunction) {
  const std::vector<std::uint64_t> values = {0, 1, 3, 4, 7, 65535, 65536, 0x7fffffff, 0xffffffff, UINT64_MAX};
  for (const WasiFunction& each : wasi_functions()) {
    for (const std::uint64_t first : values) {
      for (const std::uint64_t second : values) {
        std::vector<std::uint64_t> arguments;
        for (std::size_t i = 0; i < each.parameters.size(); ++i) {
          const std::uint64_t value = i % 2 == 0 ? first : second;
          arguments.push_back(each.parameters[i] == 'I' ? value : value & 0xffffffff);
        }
        Wasi fresh(system_with_files(), limits, "input", {"package"});
        each.call(fresh, memory, arguments);
        each.call(fresh, GuestMemory(), arguments);
      }
    }
  }
}

TEST_F(WasiTest, GivesArgumentsAndNoEnvironment) {
  EXPECT_EQ(call("args_sizes_get", {0, 4}), Errno::Success);
  EXPECT_EQ(at<std::uint32_t>(0), 2U);
  EXPECT_EQ(at<std::uint32_t>(4), 10U);
  EXPECT_EQ(call("args_get", {16, 100}), Errno::Success);
  EXPECT_EQ(*memory.text(at<std::uint32_t>(16), 8), std::string_view("package\0", 8));
  EXPECT_EQ(*memory.text(at<std::uint32_t>(20), 2), std::string_view("x\0", 2));
  EXPECT_EQ(call("environ_sizes_get", {0, 4}), Errno::Success);
  EXPECT_EQ(at<std::uint32_t>(0), 0U);
  EXPECT_EQ(call("args_get", {16, 65530}), Errno::Fault);
}

TEST_F(WasiTest, FreezesTheWallClock) {
  EXPECT_EQ(call("clock_time_get", {0, 0, 0}), Errno::Success);
  EXPECT_EQ(at<std::uint64_t>(0), 1'700'000'000'000'000'000U);
  EXPECT_EQ(call("clock_time_get", {0, 0, 8}), Errno::Success);
  EXPECT_EQ(at<std::uint64_t>(8), at<std::uint64_t>(0));
  EXPECT_EQ(call("clock_time_get", {4, 0, 8}), Errno::Inval);
}

TEST_F(WasiTest, AdvancesTheMonotonicClockByAMicrosecondForEachReading) {
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(call("clock_time_get", {1, 0, 0}), Errno::Success);
    EXPECT_EQ(at<std::uint64_t>(0), i * 1000);
  }
}

// A clock subscription at `address`.
void subscribe(GuestMemory memory, std::uint64_t address, std::uint64_t userdata, std::uint32_t clock,
               std::uint64_t timeout, std::uint16_t flags) {
  MIST_CHECK(memory.put<std::uint64_t>(address, userdata) && memory.put<std::uint8_t>(address + 8, 0) &&
             memory.put<std::uint32_t>(address + 16, clock) &&
             memory.put<std::uint64_t>(address + 24, timeout) &&
             memory.put<std::uint16_t>(address + 40, flags));
}

TEST_F(WasiTest, WaitsByMovingTheClock) {
  subscribe(memory, 100, 7, 1, 5'000'000'000, 0);
  subscribe(memory, 148, 8, 1, 9'000'000'000, 0);
  EXPECT_EQ(call("poll_oneoff", {100, 400, 2, 0}), Errno::Success);
  EXPECT_EQ(at<std::uint32_t>(0), 1U);
  EXPECT_EQ(at<std::uint64_t>(400), 7U);
  EXPECT_EQ(call("clock_time_get", {1, 0, 0}), Errno::Success);
  EXPECT_EQ(at<std::uint64_t>(0), 5'000'000'000U);
}

TEST_F(WasiTest, WaitsForTimesOfBothClocks) {
  constexpr std::uint16_t kAbsolute = 1;
  subscribe(memory, 100, 1, 0, 1'700'000'003'000'000'000, kAbsolute);
  EXPECT_EQ(call("poll_oneoff", {100, 400, 1, 0}), Errno::Success);
  EXPECT_EQ(call("clock_time_get", {1, 0, 0}), Errno::Success);
  EXPECT_EQ(at<std::uint64_t>(0), 3'000'000'000U);
  subscribe(memory, 100, 1, 1, 1'000, kAbsolute);  // in the past
  EXPECT_EQ(call("poll_oneoff", {100, 400, 1, 0}), Errno::Success);
  EXPECT_EQ(at<std::uint32_t>(0), 1U);
  EXPECT_EQ(call("clock_time_get", {1, 0, 0}), Errno::Success);
  EXPECT_EQ(at<std::uint64_t>(0), 3'000'001'000U);
}

TEST_F(WasiTest, DoesNotWaitBesideAReadyFile) {
  subscribe(memory, 100, 7, 1, 5'000'000'000, 0);
  ASSERT_TRUE(memory.put<std::uint64_t>(148, 9) && memory.put<std::uint8_t>(156, 1) &&
              memory.put<std::uint32_t>(164, 0));
  EXPECT_EQ(call("poll_oneoff", {100, 400, 2, 0}), Errno::Success);
  EXPECT_EQ(at<std::uint32_t>(0), 1U);
  EXPECT_EQ(at<std::uint64_t>(400), 9U);
  EXPECT_EQ(call("clock_time_get", {1, 0, 0}), Errno::Success);
  EXPECT_EQ(at<std::uint64_t>(0), 0U);
}

TEST_F(WasiTest, EndsAGuestThatSleepsForEver) {
  subscribe(memory, 100, 7, 1, UINT64_MAX, 0);
  call("poll_oneoff", {100, 400, 1, 0});
  ASSERT_TRUE(wasi.stop);
  EXPECT_TRUE(std::holds_alternative<EndlessSleep>(*wasi.stop));
}

TEST_F(WasiTest, DrawsFromTheSeedAndCountsByPhase) {
  EXPECT_EQ(call("random_get", {0, 10}), Errno::Success);
  wasi.entered = true;
  EXPECT_EQ(call("random_get", {10, 22}), Errno::Success);
  EXPECT_EQ(wasi.drawn_before_entry, 10U);
  EXPECT_EQ(wasi.drawn_after_entry, 22U);
  std::vector<std::byte> expected(32);
  crypto::RandomStream(crypto::Seed{}, "wasi").fill(expected);
  EXPECT_EQ(hex(*memory.bytes(0, 32)), hex(expected));
  EXPECT_EQ(call("random_get", {65530, 7}), Errno::Fault);
  EXPECT_EQ(wasi.drawn_after_entry, 22U);
}

TEST(WasiStreams, EachNameHasItsOwn) {
  const auto name = std::make_shared<std::string>();
  GuestSystem system;
  system.stream = name;
  Wasi wasi(system, {}, "", {});
  std::vector<std::byte> buffer(64);
  const GuestMemory memory(buffer);
  const auto draw = [&](std::string stream) {
    *name = std::move(stream);
    const std::array<std::uint64_t, 2> arguments{0, 8};
    EXPECT_EQ(find_wasi_function("random_get")->call(wasi, memory, arguments), Errno::Success);
    return hex(*memory.bytes(0, 8));
  };
  const std::string a1 = draw("a.yaml");
  const std::string unnamed = draw("");
  const std::string b1 = draw("b.yaml");
  const std::string a2 = draw("a.yaml");
  EXPECT_EQ(std::set<std::string>({a1, unnamed, b1, a2}).size(), 4U);
  // Another order, and one that isn't drawn from: the others give the same.
  Wasi again(system, {}, "", {});
  std::swap(wasi, again);
  EXPECT_EQ(draw("b.yaml"), b1);
  EXPECT_EQ(draw("a.yaml"), a1);
  EXPECT_EQ(draw("a.yaml"), a2);
  std::vector<std::byte> expected(8);
  crypto::RandomStream(crypto::Seed{}, "wasi/b.yaml").fill(expected);
  EXPECT_EQ(hex(expected), b1);
}

TEST_F(WasiTest, ReadsInputToItsEnd) {
  EXPECT_EQ(read_all(0), "the input");
  EXPECT_EQ(read_all(0), "");
}

TEST_F(WasiTest, KeepsOutputsApart) {
  put(100, "out");
  put(200, "err");
  vector(0, 100, 3);
  EXPECT_EQ(call("fd_write", {1, 0, 1, 16}), Errno::Success);
  vector(0, 200, 3);
  EXPECT_EQ(call("fd_write", {2, 0, 1, 16}), Errno::Success);
  EXPECT_EQ(wasi.out, "out");
  EXPECT_EQ(wasi.err, "err");
  EXPECT_EQ(call("fd_write", {0, 0, 1, 16}), Errno::BadF);
  EXPECT_EQ(call("fd_write", {3, 0, 1, 16}), Errno::BadF);
}

TEST_F(WasiTest, EndsAGuestAtItsOutputLimit) {
  limits.output_bytes = 5;
  Wasi small(GuestSystem{}, limits, "", {});
  put(100, "abc");
  vector(0, 100, 3);
  const std::vector<std::uint64_t> to_out = {1, 0, 1, 16};
  const std::vector<std::uint64_t> to_err = {2, 0, 1, 16};
  EXPECT_EQ(find_wasi_function("fd_write")->call(small, memory, to_out), Errno::Success);
  EXPECT_FALSE(small.stop);
  find_wasi_function("fd_write")->call(small, memory, to_err);
  ASSERT_TRUE(small.stop);
  EXPECT_TRUE(std::holds_alternative<OutputLimitReached>(*small.stop));
  EXPECT_EQ(small.err, "");
}

TEST_F(WasiTest, ShowsOnePreopenedDirectory) {
  EXPECT_EQ(call("fd_prestat_get", {3, 0}), Errno::Success);
  EXPECT_EQ(at<std::uint32_t>(4), 8U);
  EXPECT_EQ(call("fd_prestat_dir_name", {3, 100, 8}), Errno::Success);
  EXPECT_EQ(*memory.text(100, 8), "/package");
  EXPECT_EQ(call("fd_prestat_dir_name", {3, 100, 7}), Errno::NameTooLong);
  EXPECT_EQ(call("fd_prestat_get", {4, 0}), Errno::BadF);
  Wasi without(GuestSystem{}, limits, "", {});
  const std::vector<std::uint64_t> arguments = {3, 0};
  EXPECT_EQ(find_wasi_function("fd_prestat_get")->call(without, memory, arguments), Errno::BadF);
}

TEST_F(WasiTest, OpensReadsSeeksAndCloses) {
  ASSERT_EQ(open("templates/../Chart.yaml"), Errno::Success);
  const std::uint64_t file = at<std::uint32_t>(500);
  EXPECT_EQ(file, 4U);
  EXPECT_EQ(read_all(file), "name: shop\n");
  EXPECT_EQ(call("fd_seek", {file, static_cast<std::uint64_t>(-5), 2, 16}), Errno::Success);
  EXPECT_EQ(at<std::uint64_t>(16), 6U);
  EXPECT_EQ(read_all(file), "shop\n");
  EXPECT_EQ(call("fd_tell", {file, 16}), Errno::Success);
  EXPECT_EQ(at<std::uint64_t>(16), 11U);
  EXPECT_EQ(call("fd_seek", {file, static_cast<std::uint64_t>(-1), 0, 16}), Errno::Inval);
  EXPECT_EQ(call("fd_seek", {file, INT64_MAX, 1, 16}), Errno::Inval);
  vector(0, 2000, 4);
  EXPECT_EQ(call("fd_pread", {file, 0, 1, 6, 8}), Errno::Success);
  EXPECT_EQ(*memory.text(2000, 4), "shop");
  EXPECT_EQ(call("fd_pread", {file, 0, 1, UINT64_MAX, 8}), Errno::Success);
  EXPECT_EQ(at<std::uint32_t>(8), 0U);
  EXPECT_EQ(call("fd_close", {file}), Errno::Success);
  EXPECT_EQ(call("fd_close", {file}), Errno::BadF);
  ASSERT_EQ(open("Chart.yaml"), Errno::Success);
  EXPECT_EQ(at<std::uint32_t>(500), 4U) << "the lowest free descriptor is used again";
}

TEST_F(WasiTest, NeverLeavesThePackage) {
  for (const std::string_view path :
       {"..", "../etc/passwd", "templates/../../x", "/etc/passwd", "/package/Chart.yaml"})
    EXPECT_EQ(open(path), Errno::NotCapable) << path;
  ASSERT_EQ(open("templates", 2), Errno::Success);
  EXPECT_EQ(open("../Chart.yaml", 0, 2, at<std::uint32_t>(500)), Errno::NotCapable);
  EXPECT_EQ(open("a.yaml", 0, 2, at<std::uint32_t>(500)), Errno::Success);
}

TEST_F(WasiTest, ExplainsWhyAPathCannotBeOpened) {
  EXPECT_EQ(open("missing"), Errno::NoEnt);
  EXPECT_EQ(open(""), Errno::NoEnt);
  EXPECT_EQ(open("Chart.yaml/x"), Errno::NotDir);
  EXPECT_EQ(open("Chart.yaml/"), Errno::NotDir);
  EXPECT_EQ(open("Chart.yaml", 2), Errno::NotDir);
  EXPECT_EQ(open(std::string_view("a\0b", 3)), Errno::Ilseq);
  EXPECT_EQ(open("\xff"), Errno::Ilseq);
  EXPECT_EQ(open(std::string(5000, 'a')), Errno::NameTooLong);
  EXPECT_EQ(open("x", 0, 2, 0), Errno::NotDir);
  EXPECT_EQ(open("x", 0, 2, 77), Errno::BadF);
}

TEST_F(WasiTest, IsReadOnly) {
  constexpr std::uint64_t kCreate = 1;
  constexpr std::uint64_t kTruncate = 8;
  constexpr std::uint64_t kWrite = 1 << 6;
  EXPECT_EQ(open("new", kCreate), Errno::RoFs);
  EXPECT_EQ(open("Chart.yaml", kTruncate), Errno::RoFs);
  EXPECT_EQ(open("Chart.yaml", 0, kWrite), Errno::RoFs);
  EXPECT_EQ(call("path_unlink_file", {3, 0, 1}), Errno::RoFs);
  EXPECT_EQ(call("path_create_directory", {3, 0, 1}), Errno::RoFs);
}

TEST_F(WasiTest, BoundsOpenFiles) {
  int opened = 0;
  while (open("Chart.yaml") == Errno::Success) ++opened;
  EXPECT_EQ(open("Chart.yaml"), Errno::MFile);
  EXPECT_EQ(opened, 1020);
}

TEST_F(WasiTest, GivesZeroTimesAndStableInodes) {
  const std::uint64_t length = put(1000, "templates/a.yaml");
  EXPECT_EQ(call("path_filestat_get", {3, 0, 1000, length, 100}), Errno::Success);
  EXPECT_EQ(at<std::uint8_t>(116), 4U);
  EXPECT_EQ(at<std::uint64_t>(132), 1U);
  for (const std::uint64_t time : {140U, 148U, 156U}) EXPECT_EQ(at<std::uint64_t>(time), 0U);
  EXPECT_NE(at<std::uint64_t>(108), 0U);
}

// Reads a directory through a buffer of `size` bytes, as a guest does.
std::vector<std::string> list(const std::function<Errno(std::vector<std::uint64_t>)>& readdir,
                              GuestMemory memory, std::uint64_t descriptor, std::uint64_t size) {
  std::vector<std::string> names;
  std::uint64_t cookie = 0;
  while (names.size() < 100) {
    if (readdir({descriptor, 3000, size, cookie, 0}) != Errno::Success) break;
    const std::uint32_t used = *memory.get<std::uint32_t>(0);
    std::uint64_t at = 3000;
    while (at + 24 <= 3000 + used) {
      const std::uint32_t length = *memory.get<std::uint32_t>(at + 16);
      if (at + 24 + length > 3000 + used) break;
      names.emplace_back(*memory.text(at + 24, length));
      cookie = *memory.get<std::uint64_t>(at);
      at += 24 + length;
    }
    if (used < size) break;
  }
  return names;
}

TEST_F(WasiTest, ListsDirectoriesSortedThroughAnyBuffer) {
  const auto readdir = [&](std::vector<std::uint64_t> arguments) {
    return call("fd_readdir", std::move(arguments));
  };
  const std::vector<std::string> expected = {".", "..", "Chart.yaml", "templates"};
  for (const std::uint64_t size : {4096U, 200U, 60U, 40U})
    EXPECT_EQ(list(readdir, memory, 3, size), expected) << size;
  ASSERT_EQ(open("templates", 2), Errno::Success);
  EXPECT_EQ(list(readdir, memory, at<std::uint32_t>(500), 4096),
            (std::vector<std::string>{".", "..", "a.yaml", "b.yaml"}));
  EXPECT_EQ(call("fd_readdir", {3, 3000, 100, UINT64_MAX, 0}), Errno::Success);
  EXPECT_EQ(at<std::uint32_t>(0), 0U);
}

TEST_F(WasiTest, ExitsWithACode) {
  call("proc_exit", {7});
  ASSERT_TRUE(wasi.stop);
  EXPECT_EQ(std::get<Exited>(*wasi.stop).code, 7U);
}

}  // namespace
}  // namespace mist::wasm
