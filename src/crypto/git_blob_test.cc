#include "crypto/git_blob.h"

#include <gtest/gtest.h>

namespace mist::crypto {
namespace {

TEST(GitBlob, IsWhatGitSays) {
  EXPECT_EQ(git_blob("", GitHash::Sha1), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(git_blob("hello\n", GitHash::Sha1), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(git_blob("", GitHash::Sha256),
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813");
}

}  // namespace
}  // namespace mist::crypto
