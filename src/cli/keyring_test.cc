#include "cli/keyring.h"

#include <gtest/gtest.h>

#include "testing/fake_machine.h"

namespace mist::cli {
namespace {

using Keyring = Result<std::shared_ptr<const trust::Keyring>>;

struct GnupgKeyring : ::testing::Test {
  std::string keys_below(std::string_view directory) {
    const Path file = fake.home.path() / directory / "pubring.gpg";
    EXPECT_TRUE(fake.files.write(file, "keys", {}).ok());
    return file.string();
  }
  void set(const char* name, std::string value) { fake.environment[name] = std::move(value); }

  testing::FakeMachine fake;
};

TEST_F(GnupgKeyring, IsWhereTheEnvironmentSays) {
  const std::string in_home = keys_below(".gnupg"), elsewhere = keys_below("keys");
  set("HOME", fake.home.path().string());
  EXPECT_EQ((*read_keyring(fake.machine, ""))->file, in_home);
  set("GNUPGHOME", (fake.home.path() / "keys").string());
  EXPECT_EQ((*read_keyring(fake.machine, ""))->file, elsewhere);
}

TEST_F(GnupgKeyring, AnEmptyVariableIsNone) {
  const std::string in_home = keys_below(".gnupg");
  set("HOME", fake.home.path().string());
  set("GNUPGHOME", "");
  EXPECT_EQ((*read_keyring(fake.machine, ""))->file, in_home);
  set("HOME", "");
  const Keyring found = read_keyring(fake.machine, "");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, ErrorKind::Usage);
}

}  // namespace
}  // namespace mist::cli
