#include "catalog/audit_words.h"

#include <gtest/gtest.h>

namespace mist::catalog {
namespace {

// Logs of earlier versions hold these.
TEST(AuditWords, AreThoseOfTheLogsThatAreThere) {
  EXPECT_EQ(link_subject("etcd", "https://git.example.com/ann/etcd"),
            "etcd to https://git.example.com/ann/etcd");
  EXPECT_EQ(role_subject("ann", Role::Moderator), "ann to moderator");
}

TEST(AuditWords, ALinkLosesItsRepositoryWhateverThatIsNamed) {
  for (const char* const url : {"https://git.example.com/ann/etcd", "https://git.example.com/a to b", ""})
    EXPECT_EQ(link_subject_without_url(link_subject("etcd", url)), "etcd") << url;
  EXPECT_EQ(link_subject_without_url("etcd"), "etcd");
}

TEST(AuditWords, ARoleBeginsWithItsAccountAlone) {
  const std::string subject = role_subject("ann", Role::Author);
  EXPECT_TRUE(subject.starts_with(role_subject_start("ann")));
  EXPECT_FALSE(subject.starts_with(role_subject_start("an")));
  EXPECT_FALSE(role_subject("ann2", Role::Author).starts_with(role_subject_start("ann")));
}

}  // namespace
}  // namespace mist::catalog
