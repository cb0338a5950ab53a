#include "crypto/text_digests.h"

#include <gtest/gtest.h>

namespace mist::crypto {
namespace {

TEST(TextDigests, AreThoseOfTheStandards) {
  EXPECT_EQ(text_digests("abc"),
            (std::vector<std::string>{"900150983cd24fb0d6963f7d28e17f72",
                                      "a9993e364706816aba3e25717850c26c9cd0d89d",
                                      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                                      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                                      "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"}));
}

}  // namespace
}  // namespace mist::crypto
