#include "wasm/compile_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wasm/costly_modules.h"
#include "wasm/test_support.h"

namespace mist::wasm {
namespace {

using ::testing::HasSubstr;

TEST(CompileLimits, GrowWithTheModule) {
  const CompileLimits base{.memory_bytes = 1 << 20, .cpu_time = std::chrono::seconds(1)};
  EXPECT_EQ(limits_for(base, 1'000'000).memory_bytes, (1 << 20) + 64'000'000);
  EXPECT_EQ(limits_for(base, 1'000'000).cpu_time, std::chrono::seconds(11));
}

TEST(CompileLimits, TakeOrdinaryModules) {
  EXPECT_TRUE(check_shape(bytes_of(assemble("(module)")), "shop").ok());
  EXPECT_TRUE(check_shape(bytes_of(assemble("(module (func (local i32 i64 f32)))")), "shop").ok());
}

struct Refusal {
  std::string wasm;
  std::string says;
};

TEST(CompileLimits, RefuseShapesWithoutCompiling) {
  const std::vector<Refusal> cases = {
      {module_of_bodies({costly_body(50'000, 4'000)}), "50000 locals; their product"},
      {module_of_bodies({costly_body(60'000, 1)}), "60000 locals; at most 50000"},
      {module_of_bodies({std::string(1, '\0') + std::string(kLargestFunction, '\1') + '\x0b'}),
       "function body 0 has 2097154 bytes"},
      {module_of_bodies(std::vector<std::string>(kMostFunctions + 1, std::string("\0\x0b", 2))),
       "it has 200001 functions"},
      // Each function is within its bound.
      {module_of_bodies(std::vector<std::string>(40, costly_body(4'000, 2'000))), "are more than"},
  };
  for (const Refusal& each : cases) {
    const Status checked = check_shape(bytes_of(each.wasm), "shop");
    ASSERT_FALSE(checked.ok()) << each.says;
    EXPECT_EQ(checked.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(checked.error().message, HasSubstr(each.says));
    EXPECT_THAT(checked.error().message, HasSubstr("shop"));
    EXPECT_FALSE(checked.error().hint.empty());
    EXPECT_FALSE(shared_runtime().load(bytes_of(each.wasm), "shop").ok());
  }
}

// A count of locals close to 2^32, many times: no sum or product may wrap around to something small.
TEST(CompileLimits, CountLocalsWithoutOverflow) {
  std::string body = leb(10'000);
  for (int i = 0; i < 10'000; ++i) body += leb(0xffffffff) + '\x7f';
  body += '\x0b';
  EXPECT_FALSE(check_shape(bytes_of(module_of_bodies({body})), "shop").ok());
}

TEST(CompileLimits, LeaveDamagedCodeToTheCompiler) {
  const std::string whole = module_of_bodies({costly_body(3, 2)});
  for (std::size_t size = 8; size < whole.size(); ++size) [[maybe_unused]]
    const Status checked = check_shape(bytes_of(whole.substr(0, size)), "shop");
}

}  // namespace
}  // namespace mist::wasm
