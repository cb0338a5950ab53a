// How PostgreSQL looks for words.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "catalog/database_fixture.h"
#include "catalog/sql_connections.h"
#include "catalog/sql_dialect.h"

namespace mist::catalog {
namespace {

class PostgresSearchTest : public ::testing::TestWithParam<DatabaseKind> {
 protected:
  std::string plan(WordsIn where) const {
    std::string condition = postgres_dialect().is_found(where);
    condition.replace(condition.find("?1"), 2, "'''etcd'':*'");
    std::string plan;
    const Status done = database_.open()->writing([&](sql::Database& db) -> Status {
      MIST_TRY_VOID(db.script("SET LOCAL enable_seqscan = off"));
      return db.query(fmt::format("EXPLAIN SELECT 1 FROM words w WHERE {}", condition), {},
                      [&](const sql::Row& row) { plan += row.text(0) + "\n"; });
    });
    EXPECT_TRUE(done.ok()) << done.error().to_line();
    return plan;
  }

  const TestDatabase database_{GetParam(), {}};
};

// With the index of all words, each package that has them in its details would be read.
TEST_P(PostgresSearchTest, HasAnIndexForEachPlaceOfWords) {
  EXPECT_THAT(plan(WordsIn::Name), ::testing::HasSubstr("on words_in_names "));
  EXPECT_THAT(plan(WordsIn::NameOrDescription), ::testing::HasSubstr("on words_in_descriptions "));
  EXPECT_THAT(plan(WordsIn::Anywhere), ::testing::HasSubstr("on words_lexemes "));
}

INSTANTIATE_TEST_SUITE_P(Postgres, PostgresSearchTest, postgres_alone(), name_of_database);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PostgresSearchTest);

}  // namespace
}  // namespace mist::catalog
