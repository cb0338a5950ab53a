// Test cases that packages carry: any text is one, or an error with its place.
#include "package/test_case.h"

#include "targets.h"

namespace mist::fuzz {

void test_case(std::string_view bytes) {
  const auto test = package::TestCase::parse("fuzz", std::string(bytes), "tests/fuzz.yaml");
  if (!test.ok()) return check_error(test.error());
  if (test->golden && test->golden->find('/') != std::string::npos)
    fail("a golden file elsewhere", *test->golden);
  (void)test->request();
}

}  // namespace mist::fuzz
