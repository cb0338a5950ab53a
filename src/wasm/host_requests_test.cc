#include "wasm/host_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <functional>
#include <stdexcept>

#include "wasm/instance.h"
#include "wasm/test_support.h"

namespace mist::wasm {
namespace {

using ::testing::HasSubstr;

class Echo final : public RequestHandler {
 public:
  Result<std::string> answer(std::string_view request) override {
    if (then) then();
    if (failure) return *failure;
    return "<" + std::string(request) + ">";
  }
  std::optional<Error> failure;
  std::function<void()> then;
};

struct Border {
  explicit Border(Limits limits = {}) : requests(&echo, limits, "shop") {
    std::memcpy(bytes.data(), "hello", 5);
  }
  std::vector<std::byte> bytes = std::vector<std::byte>(64);
  GuestMemory memory{bytes};
  Echo echo;
  HostRequests requests;
};

TEST(HostRequests, CopiesTheAnswerWhereTheGuestWantsIt) {
  Border border;
  EXPECT_EQ(*border.requests.request(border.memory, 0, 5), 7U);
  ASSERT_TRUE(border.requests.response(border.memory, 57).ok()) << "up to the last byte";
  EXPECT_EQ(border.memory.text(57, 7), "<hello>");
  ASSERT_TRUE(border.requests.response(border.memory, 8).ok()) << "as often as it likes";
  EXPECT_EQ(border.memory.text(8, 7), "<hello>");
  EXPECT_EQ(*border.requests.request(border.memory, 64, 0), 2U) << "nothing, at the very end";
}

TEST(HostRequests, EndsGuestsWithWildAddresses) {
  Border border;
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> wild{{60, 5},         {64, 1},         {65, 0},
                                                                  {0xffffffff, 1}, {1, 0xffffffff}, {0, 65}};
  for (const auto& [address, length] : wild) {
    const auto asked = border.requests.request(border.memory, address, length);
    ASSERT_FALSE(asked.ok()) << address << " " << length;
    EXPECT_EQ(asked.error().kind, ErrorKind::Trap);
    EXPECT_THAT(asked.error().because, HasSubstr("outside its memory"));
  }
  ASSERT_TRUE(border.requests.request(border.memory, 0, 5).ok());
  for (const std::uint64_t address : {std::uint64_t{58}, std::uint64_t{64}, std::uint64_t{0xffffffff}}) {
    const Status copied = border.requests.response(border.memory, address);
    ASSERT_FALSE(copied.ok()) << address;
    EXPECT_THAT(copied.error().because, HasSubstr("outside its memory"));
  }
  EXPECT_EQ(border.memory.text(58, 6), std::string_view("\0\0\0\0\0\0", 6)) << "not half of it";
}

TEST(HostRequests, HasNoAnswerWithoutARequest) {
  Border border;
  EXPECT_THAT(border.requests.response(border.memory, 0).error().message, HasSubstr("did not make"));
  ASSERT_TRUE(border.requests.request(border.memory, 0, 5).ok());
  ASSERT_FALSE(border.requests.request(border.memory, 64, 5).ok());
  EXPECT_FALSE(border.requests.response(border.memory, 0).ok()) << "an old answer is none";
}

TEST(HostRequests, BoundsCountAndSize) {
  Limits limits;
  limits.requests = 3;
  Border border(limits);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(border.requests.request(border.memory, 0, 5).ok());
  const auto fourth = border.requests.request(border.memory, 0, 5);
  ASSERT_FALSE(fourth.ok());
  EXPECT_EQ(fourth.error().kind, ErrorKind::Trap);
  EXPECT_THAT(fourth.error().message, HasSubstr("limit of 3 requests"));
  EXPECT_THAT(fourth.error().hint, HasSubstr("--limit-requests"));

  Border large;
  large.bytes.resize(HostRequests::kMaxRequest + 1);
  const GuestMemory memory(large.bytes);
  EXPECT_THAT(large.requests.request(memory, 0, HostRequests::kMaxRequest + 1).error().message,
              HasSubstr("1048577 bytes"));
  for (std::uint64_t i = 0; i < HostRequests::kMaxTogether / HostRequests::kMaxRequest; ++i)
    ASSERT_TRUE(large.requests.request(memory, 0, HostRequests::kMaxRequest).ok());
  EXPECT_THAT(large.requests.request(memory, 0, 1).error().message, HasSubstr("16 MiB together"));
}

TEST(HostRequests, BoundsAnswersTogether) {
  Limits limits;
  limits.output_bytes = std::uint64_t{1} << 20;
  Border border(limits);
  border.bytes.resize(HostRequests::kMaxRequest);
  const GuestMemory memory(border.bytes);
  const std::uint64_t length = (std::uint64_t{1} << 20) - 2;  // the answer is two bytes longer
  for (std::uint64_t i = 0; i < HostRequests::kAnswersPerOutput; ++i)
    ASSERT_TRUE(border.requests.request(memory, 0, length).ok());
  const auto more = border.requests.request(memory, 0, 5);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().kind, ErrorKind::Trap);
  EXPECT_THAT(more.error().message, HasSubstr("answers of more than 4 MiB together"));
  EXPECT_THAT(more.error().hint, HasSubstr("--limit-output"));
}

constexpr std::string_view kAsking = R"((module
  (import "mistletoe_v1" "request" (func $request (param i32 i32) (result i32)))
  (import "mistletoe_v1" "response" (func $response (param i32)))
  (memory (export "memory") 1) (data (i32.const 16) "hello")
  (func (export "run") (result i32)
    (local $length i32)
    (local.set $length (call $request (i32.const 16) (i32.const 5)))
    (call $response (i32.const 32))
    (i32.load8_u (i32.add (i32.const 31) (local.get $length))))
  (func (export "spin") (result i32) (loop (br_if 0 (call $request (i32.const 16) (i32.const 5))))
    (i32.const 0))))";

TEST(HostRequests, GuestsReachTheirHandler) {
  Echo echo;
  auto instance = Instance::create(module_of(kAsking), {.system = {}, .input = "", .requests = &echo});
  ASSERT_TRUE(instance.ok()) << instance.error().to_line();
  EXPECT_EQ(instance->call("run")->values, std::vector<std::uint32_t>{'>'});
  EXPECT_EQ(instance->memory().text(32, 7), "<hello>");
}

TEST(HostRequests, AnErrorOfTheHandlerIsThatOfTheCall) {
  Echo echo;
  echo.failure = error(ErrorKind::Cancelled, "stopped by the user");
  auto instance = Instance::create(module_of(kAsking), {.system = {}, .input = "", .requests = &echo});
  const auto result = instance->call("run");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Cancelled);
  EXPECT_EQ(result.error().message, "stopped by the user");
  EXPECT_FALSE(instance->call("run").ok()) << "the guest is over";
}

TEST(HostRequests, AnExceptionOfTheHandlerEndsTheGuest) {
  Echo echo;
  echo.then = [] { throw std::runtime_error("no memory is left"); };
  auto instance = Instance::create(module_of(kAsking), {.system = {}, .input = "", .requests = &echo});
  const auto result = instance->call("run");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Internal) << "the package has no part in it";
  EXPECT_THAT(result.error().because, HasSubstr("no memory is left"));
  EXPECT_FALSE(instance->call("run").ok()) << "the guest is over";
}

TEST(HostRequests, NobodyToAnswerEndsTheGuest) {
  auto instance = Instance::create(module_of(kAsking), {});
  EXPECT_THAT(instance->call("run").error().message, HasSubstr("host requests are not available"));
}

TEST(HostRequests, TheHostsTimeIsNotTheGuests) {
  Echo echo;
  // Longer than the guest's whole time, by this thread's own clock: however slow the machine is.
  echo.then = [] {
    timespec begin{};
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1'000'000 < 400);
  };
  Limits limits;
  limits.guest_time = std::chrono::milliseconds(200);
  auto instance =
      Instance::create(module_of(kAsking), {.system = {}, .input = "", .limits = limits, .requests = &echo});
  const auto result = instance->call("run");
  EXPECT_TRUE(result.ok()) << result.error().to_line();
  EXPECT_LT(instance->take_report().guest_time, limits.guest_time);
}

TEST(HostRequests, StormsEndAtTheirLimit) {
  Echo echo;
  Limits limits;
  limits.requests = 1000;
  auto instance =
      Instance::create(module_of(kAsking), {.system = {}, .input = "", .limits = limits, .requests = &echo});
  EXPECT_THAT(instance->call("spin").error().message, HasSubstr("limit of 1000 requests"));
}

TEST(HostRequests, OtherTypesAndNamesAreRefused) {
  const auto refused = [](std::string_view import) {
    auto module =
        shared_runtime().load(bytes_of(assemble(fmt::format("(module (import {}))", import))), "shop");
    EXPECT_FALSE(module.ok());
    return module.ok() ? std::string() : module.error().to_line();
  };
  EXPECT_THAT(refused(R"("mistletoe_v1" "request" (func (param i32 i64) (result i32)))"),
              HasSubstr("(i32, i32) → i32"));
  EXPECT_THAT(refused(R"("mistletoe_v1" "steal" (func))"), HasSubstr("mistletoe_v1.steal"));
  EXPECT_THAT(refused(R"("mistletoe_v2" "request" (func (param i32 i32) (result i32)))"),
              HasSubstr("mistletoe_v2.request"));
}

}  // namespace
}  // namespace mist::wasm
