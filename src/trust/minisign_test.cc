#include "trust/minisign.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace mist::trust {
namespace {

// Made with minisign 0.11: `minisign -G -W`, `minisign -S -m file.bin` and the same with -l, of "hello". They
// protect nothing.
constexpr std::string_view kMiniPublic = R"(untrusted comment: minisign public key 8B7585FC1E46E2C7
RWTH4kYe/IV1i5OrW2EKfkKbhmVyi0bFjgw+1vNc+wM9d4+CyiS0QIyv
)";
constexpr std::string_view kMiniPrivate = R"(untrusted comment: minisign encrypted secret key
RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAx+JGHvyFdYs9lBTHdiSOBNKgtVJTbcuz4XvlW48H2tF5404EuEMm3JOrW2EKfkKbhmVyi0bFjgw+1vNc+wM9d4+CyiS0QIyvAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
)";
constexpr std::string_view kMiniHashed = R"(untrusted comment: signature from minisign secret key
RUTH4kYe/IV1i/YJZ7NNZkhL0/owWwhiDRSqUkLNiImLWFOLOLgfrB/5uZtfvnA5ZRaozgQExwjhH0EiKH7WOn0Bt3iDPwa3Kgw=
trusted comment: timestamp:1700000000	file:file.bin	hashed
LBu0dOc3OdKQVv2+Bx2bWzA5hYWHX08E5fGsuOfsCQdLoiCNGhu4NpWH2l6Q8U/UqKiewMWc1Rbb2MLb/q8kBQ==
)";
constexpr std::string_view kMiniPlain = R"(untrusted comment: signature from minisign secret key
RWTH4kYe/IV1i4JCBI+tDzzpwWJXj26cgbz9J3D4AtSKTTu5CbFcpCQziUxuEJGb07SSGm26dF/Zy6kHjK4thIOppQVkGChzuwg=
trusted comment: timestamp:1795635638	file:file.bin
o2J7222VioKNGnjxIzMyBtXP3dNFCjLw4I2OO9GWWekFC1vcywHnnSjd4nvb4SFE0M+fHuj7snkhcqvtnAT1CQ==
)";
constexpr std::string_view kFile = "hello";

AskPassword nobody() {
  return []() -> Result<SecretString> { return error(ErrorKind::Internal, "nobody is to be asked"); };
}
std::string with(std::string_view text, std::string_view what, std::string_view by) {
  std::string out(text);
  const auto at = out.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return out.replace(at, what.size(), by);
}
std::string problem(std::string_view signature) {
  const auto claim = parse_minisign(signature);
  return claim ? "no error" : claim.error().because;
}

TEST(Minisign, VerifiesWhatMinisignSigned) {
  const auto key = read_minisign_public_key(kMiniPublic);
  ASSERT_TRUE(key.ok()) << key.error().to_line();
  for (const std::string_view text : {kMiniHashed, kMiniPlain}) {
    const auto claim = parse_minisign(text);
    ASSERT_TRUE(claim.ok()) << claim.error().to_line();
    EXPECT_EQ(claim->prehashed, text == kMiniHashed);
    EXPECT_TRUE(verify_minisign(*claim, *key, kFile));
    EXPECT_FALSE(verify_minisign(*claim, *key, "hellp"));
    EXPECT_EQ(claim->file, "file.bin");
    EXPECT_TRUE(claim->signed_at);
    // The comment is signed too.
    auto other = *claim;
    other.trusted_comment += "x";
    EXPECT_FALSE(verify_minisign(other, *key, kFile));
  }
  EXPECT_EQ(parse_minisign(kMiniHashed)->signed_at, WallTime(std::chrono::seconds(1700000000)));
}

TEST(Minisign, SignsAsMinisignDoes) {
  const auto key = MinisignKey::read(kMiniPrivate, nobody());
  ASSERT_TRUE(key.ok()) << key.error().to_line();
  EXPECT_EQ(key->public_key(), *read_minisign_public_key(kMiniPublic));
  const std::string text = key->sign(kFile, "file.bin", WallTime(std::chrono::seconds(1700000000)));
  // Ed25519 has one signature for a message, so all but the untrusted comment is the same.
  EXPECT_EQ(text.substr(text.find('\n')), std::string(kMiniHashed.substr(kMiniHashed.find('\n'))));
}

TEST(Minisign, APublicKeyMayBeItsLineAlone) {
  const std::string_view line = trim(kMiniPublic.substr(kMiniPublic.find('\n')));
  EXPECT_TRUE(is_minisign(line));
  EXPECT_EQ(*read_minisign_public_key(line), *read_minisign_public_key(kMiniPublic));
}

TEST(Minisign, SaysWhatIsDamaged) {
  EXPECT_EQ(problem(""), "it doesn't begin with \"untrusted comment:\", or has less than four lines");
  EXPECT_EQ(problem(with(kMiniHashed, "RU", "%%")), "its second line is no signature");
  EXPECT_EQ(problem(with(kMiniHashed, "RU", "RX")), "it is of another algorithm than Ed25519");
  EXPECT_EQ(problem(with(kMiniHashed, "\ntrusted comment", "\ncomment")),
            "its third line is no trusted comment");
  EXPECT_EQ(problem(with(kMiniHashed, "LBu0", "")), "its fourth line is no signature");
  EXPECT_FALSE(read_minisign_public_key("untrusted comment: x").ok());
  EXPECT_FALSE(read_minisign_public_key("RWQ=").ok());
  EXPECT_FALSE(MinisignKey::read(kMiniPublic, nobody()).ok());
  EXPECT_FALSE(MinisignKey::read(with(kMiniPrivate, "JOrW2", "JOrW3"), nobody()).ok());
}

}  // namespace
}  // namespace mist::trust
