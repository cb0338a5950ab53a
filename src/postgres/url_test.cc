#include "postgres/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::postgres {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PostgresUrl, ShowsNoPassword) {
  const auto url =
      Url::parse(SecretString("postgresql://ann:s3cret%40x@db.example.com:5432/catalog?sslmode=require"));
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->shown(), "postgresql://ann@db.example.com:5432/catalog");
  EXPECT_TRUE(url->has_password());
  const auto hidden = Url::parse(SecretString("postgres:///catalog?host=/run/postgresql&password=s3cret"));
  ASSERT_TRUE(hidden.ok());
  EXPECT_EQ(hidden->shown(), "postgres:///catalog");
  EXPECT_TRUE(hidden->has_password());
  EXPECT_FALSE(Url::parse(SecretString("postgresql://ann@/catalog?host=/run"))->has_password());
  EXPECT_TRUE(Url::parse(SecretString("postgresql://ann@/catalog?host=/run&%70assword=x"))->has_password());
}

TEST(PostgresUrl, TakesAPasswordFromElsewhere) {
  const Url url = *Url::parse(SecretString("postgresql://ann@db/catalog"));
  EXPECT_EQ(url.with_password(SecretString("s3 &t")).text().reveal(),
            "postgresql://ann@db/catalog?password=s3%20%26t");
  const Url more = Url::parse(SecretString("postgresql://ann@db/catalog?host=/run"))
                       ->with_password(SecretString("s3cret"));
  EXPECT_EQ(more.text().reveal(), "postgresql://ann@db/catalog?host=/run&password=s3cret");
  EXPECT_TRUE(more.has_password());
  const auto key = Url::parse(SecretString("postgresql://ann@db/catalog?sslpassword=x"));
  EXPECT_FALSE(key->has_password()) << "PGPASSWORD counts";
  EXPECT_TRUE(key->has_secret());
  EXPECT_THAT(more.shown(), Not(HasSubstr("s3cret")));
}

TEST(PostgresUrl, APasswordThatIsNotEncodedIsRefusedAndNotShown) {
  for (const char* text :
       {"postgresql://ann:s3@cret@db/catalog", "postgresql://ann:s3/cret@db/catalog",
        "postgresql://ann:s3?cret@db/catalog", "postgresql://ann:12/s3cret@db/catalog",
        "postgresql://ann:s3 cret@db/catalog", "postgresql://ann:s3%cret@db/catalog",
        "postgresql://ann:s3%00cret@db/catalog", "postgresql://ann:s3cret%@db/catalog",
        "postgresql://ann:s3cret@db/catalog?x=%4", "mysql://ann:s3cret@db/catalog", "s3cret", ""}) {
    const auto url = Url::parse(SecretString(text));
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(url.error().to_line(), Not(HasSubstr("cret"))) << text;
  }
}

}  // namespace
}  // namespace mist::postgres
