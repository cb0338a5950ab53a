#include "postgres/placeholders.h"

#include <gtest/gtest.h>

namespace mist::postgres {
namespace {

TEST(Placeholders, AreNumbered) {
  EXPECT_EQ(with_numbers("SELECT ? WHERE a = ? AND b = ?"), "SELECT $1 WHERE a = $2 AND b = $3");
  EXPECT_EQ(with_numbers("SELECT ?2, ?1, ?12"), "SELECT $2, $1, $12");
  EXPECT_EQ(with_numbers(""), "");
}

TEST(Placeholders, WhatIsQuotedStays) {
  EXPECT_EQ(with_numbers("SELECT '?', 'it''s ?', \"a?\" FROM t WHERE x = ?"),
            "SELECT '?', 'it''s ?', \"a?\" FROM t WHERE x = $1");
  EXPECT_EQ(with_numbers("SELECT '?"), "SELECT '?");
}

}  // namespace
}  // namespace mist::postgres
