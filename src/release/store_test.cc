#include "release/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <random>
#include <set>

#include "base/text.h"
#include "encoding/json.h"
#include "testing/fake_cluster.h"

namespace mist::release {
namespace {

using ::testing::ElementsAre;
using testing::FakeCall;
using testing::FakeCluster;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kKilo = 1000;

// Text of which gzip makes about `packed` bytes: base64 of noise.
std::string noise(std::size_t packed, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(packed, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return base64_encode(bytes);
}

InventoryItem named(std::string name) {
  return {.key = {{"", "ConfigMap"}, "default", std::move(name)}, .version = "v1", .uid = "u"};
}

class StoreTest : public ::testing::Test {
 protected:
  static constexpr StoreLimits kSmall{.inline_bytes = 300, .chunk_bytes = 300};

  Anchor born(bool sealed = true) {
    Anchor anchor;
    anchor.id = id;
    SystemRandom random;
    if (sealed) anchor.seals = Seals::draw(random, 0);
    anchor.seed = SecretString(std::string(32, 's'));
    anchor.frozen_clock = "2026-01-01T00:00:00Z";
    auto created = store.create_anchor(std::move(anchor), Context());
    EXPECT_TRUE(created.ok()) << created.error().to_line();
    return *std::move(created);
  }
  Anchor whole() { return **store.read_anchor(id, Context()); }
  // Somebody with the right to write Secrets.
  void forge(const std::string& name, const std::function<void(Value&)>& change) {
    Value secret = *cluster.find("Secret", "default", name);
    change(secret);
    cluster.drop({{"", "Secret"}, "default", name});
    secret["metadata"].erase("uid");
    cluster.put(std::move(secret));
  }
  Revision stored(const Anchor& anchor, int number) {
    Revision made = revision(100);
    made.number = number;
    made.attempt = fmt::format("ab{}", number);
    EXPECT_TRUE(store.create_revision(anchor, made, *Store::pack(made), Context()).ok());
    finished_with(made, 10);
    EXPECT_TRUE(store.finish_revision(anchor, made, Context()).ok());
    return made;
  }
  std::string why_not(int number) {
    const auto read = store.read_revision(whole(), number, Context());
    if (read.ok()) return *read ? "ok" : "missing";
    EXPECT_EQ(read.error().kind, ErrorKind::Internal);
    return read.error().because;
  }
  static Revision revision(std::size_t packed) {
    Revision revision;
    revision.number = 0;
    revision.action = "install";
    revision.attempt = "abcd";
    revision.user_values = Value::object({{"noise", noise(packed, 1)}});
    revision.options = Value::object();
    return revision;
  }
  static void finished_with(Revision& revision, std::size_t packed, unsigned seed = 2) {
    revision.status = RevisionStatus::Deployed;
    revision.finished = "2026-01-01T00:00:01Z";
    revision.inventory = {named(noise(packed, seed))};
  }
  // Everything but the anchor and the revision itself.
  std::set<std::string> chunks() {
    std::set<std::string> names;
    for (const auto& key : cluster.objects()) {
      if (key.group_kind.kind == "Secret" && key.name != apply::anchor_name(id) &&
          key.name != revision_name(id, 0))
        names.insert(key.name.substr(revision_name(id, 0).size() + 1));
    }
    return names;
  }
  std::string inventory_name(Store& reader) {
    auto read = reader.read_revision(whole(), 0, Context());
    if (!read.ok()) return read.error().to_line();
    return (*read)->inventory.size() == 1 ? (*read)->inventory[0].key.name : "";
  }

  FakeCluster cluster;
  Store store{cluster};
  Store small{cluster, kSmall};
  ReleaseId id{"default", "web"};
};

// The server counts what lies in a Secret after base64 was undone, record and inventory together.
TEST_F(StoreTest, RecordsOfEverySizeAreStoredAndFinished) {
  struct Sizes {
    std::size_t record, inventory;
  };
  for (const Sizes& sizes :
       {Sizes{1 * kKilo, 1 * kKilo}, Sizes{255 * kKilo, 255 * kKilo}, Sizes{262 * kKilo, 10 * kKilo},
        Sizes{540 * kKilo, 250 * kKilo}, Sizes{700 * kKilo, 120 * kKilo}, Sizes{780 * kKilo, 1 * kKilo},
        Sizes{810 * kKilo, 1 * kKilo}, Sizes{1700 * kKilo, 900 * kKilo}}) {
    SCOPED_TRACE(fmt::format("{} + {}", sizes.record, sizes.inventory));
    const Anchor anchor = born();
    Revision stored = revision(sizes.record);
    const Status created = store.create_revision(anchor, stored, *Store::pack(stored), Context());
    ASSERT_TRUE(created.ok()) << created.error().to_line();
    finished_with(stored, sizes.inventory);
    const Status finished = store.finish_revision(anchor, stored, Context());
    ASSERT_TRUE(finished.ok()) << finished.error().to_line();
    const auto back = store.read_revision(whole(), 0, Context());
    ASSERT_TRUE(back.ok()) << back.error().to_line();
    EXPECT_EQ((*back)->user_values, stored.user_values);
    EXPECT_EQ((*back)->inventory[0].key, stored.inventory[0].key);
    EXPECT_EQ((*back)->status, RevisionStatus::Deployed);
    ASSERT_TRUE(store.delete_revisions(id, {}, Context()).ok());
    ASSERT_TRUE(store.delete_anchor(anchor, Context()).ok());
    EXPECT_THAT(cluster.objects(), IsEmpty());
  }
}

TEST_F(StoreTest, ARecordThatCouldNotBeReadAgainIsNotPacked) {
  Revision large = revision(1000);
  EXPECT_TRUE(Store::pack(large).ok());
  const auto long_one = Store::pack(large, {.bytes = 1000});
  ASSERT_FALSE(long_one.ok());
  EXPECT_EQ(long_one.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(long_one.error().because, HasSubstr("bytes, and may have 1000"));
  const auto many = Store::pack(large, {.values = 3});
  ASSERT_FALSE(many.ok());
  EXPECT_THAT(many.error().because, HasSubstr("values, and may have 3"));
}

// To the level at which reading ends.
TEST_F(StoreTest, ARecordThatNestsAsDeepAsItIsReadIsPacked) {
  const Anchor anchor = born();
  Revision deep = revision(10);
  Value nested = Value("leaf");
  int levels = 0;
  for (; levels < 1000; ++levels) {
    nested = Value::object({{"a", std::move(nested)}});
    deep.number = levels;
    deep.user_values = nested;
    const auto packed = Store::pack(deep);
    if (!packed.ok()) {
      EXPECT_THAT(packed.error().because, HasSubstr("nests more than 512 levels"));
      break;
    }
    if (levels < 500) continue;
    ASSERT_TRUE(store.create_revision(anchor, deep, *packed, Context()).ok());
    EXPECT_EQ(why_not(levels), "ok");
  }
  EXPECT_GT(levels, 500);
  EXPECT_LT(levels, 1000);
}

// ValidateAnnotations of Kubernetes: 256 KiB, keys and values together.
TEST_F(StoreTest, NamespacesBeyondWhatAnnotationsHoldAreLeftOutOfThem) {
  Anchor anchor = born();
  std::vector<std::string> namespaces;
  for (int i = 0; i < 4200; ++i) namespaces.push_back(fmt::format("{:04}-{}", i, std::string(58, 'n')));
  const auto size = [&] {
    std::size_t total = 0;
    const auto secret = cluster.find("Secret", "default", "mistletoe.web");
    for (const auto& each : secret->at_path({"metadata", "annotations"})->as_object())
      total += each.key.size() + each.value.as_string().size();
    return total;
  };
  const std::vector<std::string> kinds{"ConfigMap"};
  ASSERT_TRUE(
      store
          .change_anchor(anchor,
                         {.head = {}, .lock = {}, .group_kinds = kinds, .additional_namespaces = namespaces},
                         Context())
          .ok());
  EXPECT_LT(size(), std::size_t{256} << 10);
  EXPECT_TRUE((*store.read_anchor(id, Context()))->cut);
  namespaces.resize(10);
  ASSERT_TRUE(
      store
          .change_anchor(anchor,
                         {.head = {}, .lock = {}, .group_kinds = kinds, .additional_namespaces = namespaces},
                         Context())
          .ok());
  EXPECT_FALSE((*store.read_anchor(id, Context()))->cut);
}

// Earlier versions kept up to 800 KiB inline, and numbered the chunks of every inventory from 1000.
TEST_F(StoreTest, RecordsOfEarlierVersionsAreReadAndFinished) {
  Store earlier(cluster, {.inline_bytes = 800 * 1024, .chunk_bytes = 800 * 1024});
  const Anchor anchor = born(false);
  Revision stored = revision(700 * kKilo);
  ASSERT_TRUE(earlier.create_revision(anchor, stored, *Store::pack(stored), Context()).ok());
  EXPECT_THAT(chunks(), IsEmpty());
  const auto pending = store.read_revision(whole(), 0, Context());
  ASSERT_TRUE(pending.ok()) << pending.error().to_line();
  EXPECT_EQ((*pending)->status, RevisionStatus::Pending);
  EXPECT_EQ((*pending)->user_values, stored.user_values);
  // Beside that record there is no room for its inventory.
  finished_with(stored, 120 * kKilo);
  const Status finished = store.finish_revision(anchor, stored, Context());
  ASSERT_TRUE(finished.ok()) << finished.error().to_line();
  EXPECT_EQ(chunks().size(), 1u);
  EXPECT_EQ(inventory_name(store), stored.inventory[0].key.name);
}

TEST_F(StoreTest, ChunksOfAnInventoryAsEarlierVersionsNamedThemAreReadAndSwept) {
  const Anchor anchor = born(false);
  Revision stored = revision(1 * kKilo);
  ASSERT_TRUE(store.create_revision(anchor, stored, *Store::pack(stored), Context()).ok());
  finished_with(stored, 1 * kKilo);
  ASSERT_TRUE(small.finish_revision(anchor, stored, Context()).ok());
  // Renamed, and so named by the revision.
  Value secret = *cluster.find("Secret", "default", revision_name(id, 0));
  std::string text;
  ASSERT_TRUE(base64_decode(secret.string_at({"data", "inventory"}), text));
  Value ref = *encoding::parse_json(text);
  const std::int64_t first = ref.find("first")->as_int(), count = ref.find("count")->as_int();
  ASSERT_GE(first, 2000);
  ASSERT_GE(count, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto name = [&](std::int64_t number) {
      return fmt::format("{}.abcd.{}", revision_name(id, 0), number + i);
    };
    Value chunk = *cluster.find("Secret", "default", name(first));
    cluster.drop({{"", "Secret"}, "default", name(first)});
    chunk["metadata"].set("name", name(1000));
    chunk["metadata"].erase("uid");
    cluster.put(chunk);
  }
  ref.set("first", 1000);
  secret["data"].set("inventory", base64_encode(encoding::to_json(ref)));
  cluster.put(secret);
  EXPECT_EQ(inventory_name(store), stored.inventory[0].key.name);
  ASSERT_TRUE(store.sweep_chunks(id, Context()).ok());
  EXPECT_EQ(chunks().size(), static_cast<std::size_t>(count));
  EXPECT_EQ(inventory_name(store), stored.inventory[0].key.name);
  stored.inventory = {named(noise(kKilo, 3))};
  ASSERT_TRUE(small.finish_revision(anchor, stored, Context()).ok());
  EXPECT_EQ(inventory_name(store), stored.inventory[0].key.name);
  ASSERT_TRUE(store.sweep_chunks(id, Context()).ok());
  EXPECT_FALSE(chunks().contains("abcd.1000"));
  EXPECT_EQ(inventory_name(store), stored.inventory[0].key.name);
}

// An inventory is written again when another release takes over an object of it. A process that dies on the
// way, at whichever request and with or without its effect, leaves the old one or the new one, readable; and
// the next sweep leaves nothing else.
TEST_F(StoreTest, AnInventoryWrittenAnewIsNeverDamaged) {
  struct Shape {
    StoreLimits before, after;
  };
  const StoreLimits plain;
  for (const Shape& shape : {Shape{kSmall, kSmall}, Shape{kSmall, plain}, Shape{plain, kSmall}}) {
    for (const bool lost : {false, true}) {
      bool survived = false;
      for (std::size_t point = 1; !survived; ++point) {
        ASSERT_LT(point, 60u);
        SCOPED_TRACE(fmt::format("request {}{}", point, lost ? ", its answer" : ""));
        FakeCluster fresh;
        Store first(fresh, shape.before), second(fresh, shape.after), reader(fresh);
        Anchor anchor;
        anchor.id = id;
        anchor.seals = Seals::with(SecretString(std::string(32, 'k')), 0);
        anchor.seed = SecretString(std::string(32, 's'));
        anchor.frozen_clock = "2026-01-01T00:00:00Z";
        anchor = *first.create_anchor(std::move(anchor), Context());
        Revision stored = revision(kKilo);
        ASSERT_TRUE(first.create_revision(anchor, stored, *Store::pack(stored), Context()).ok());
        finished_with(stored, kKilo, 2);
        ASSERT_TRUE(first.finish_revision(anchor, stored, Context()).ok());
        const std::string before = stored.inventory[0].key.name;
        stored.inventory = {named(noise(kKilo, 3))};

        std::atomic<std::size_t> count{0};
        std::atomic<bool> dead{false};
        const Error gone = error(ErrorKind::Retryable, "the process is gone");
        fresh.set_before([&](const FakeCall&) -> std::optional<Error> {
          if (!dead && ++count == point && !lost) dead = true;
          return dead ? std::optional(gone) : std::nullopt;
        });
        fresh.set_after([&](const FakeCall&) -> std::optional<Error> {
          if (lost && count >= point) dead = true;
          return dead ? std::optional(gone) : std::nullopt;
        });
        (void)second.finish_revision(anchor, stored, Context());
        (void)second.sweep_chunks(id, Context());
        survived = !dead;
        fresh.set_before({});
        fresh.set_after({});

        const auto left = reader.read_revision(anchor, 0, Context());
        ASSERT_TRUE(left.ok()) << left.error().to_line();
        const std::string name = (*left)->inventory[0].key.name;
        EXPECT_TRUE(name == stored.inventory[0].key.name || (name == before && !survived));
        ASSERT_TRUE(reader.sweep_chunks(id, Context()).ok());
        const auto swept = reader.read_revision(anchor, 0, Context());
        ASSERT_TRUE(swept.ok()) << swept.error().to_line();
        EXPECT_EQ((*swept)->inventory[0].key.name, name);
        // Of the inventories' chunks (the record's are numbered from 0) only one set is left.
        std::set<std::string> sets;
        for (const auto& key : fresh.objects()) {
          const std::size_t number = key.name.rfind(".abcd.");
          if (number != std::string::npos && key.name.size() > number + 6 + 3)
            sets.insert(key.name.substr(number, key.name.size() - number - 3));
        }
        EXPECT_LE(sets.size(), 1u);
        EXPECT_EQ(sets.size(),
                  (name == before ? shape.before : shape.after).inline_bytes == kSmall.inline_bytes);
      }
    }
  }
}

TEST_F(StoreTest, AnInventoryWhoseChunksNoRevisionNamesYetIsSwept) {
  const Anchor anchor = born();
  Revision stored = revision(kKilo);
  ASSERT_TRUE(small.create_revision(anchor, stored, *Store::pack(stored), Context()).ok());
  const std::set<std::string> record = chunks();
  ASSERT_GE(record.size(), 3u);
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "patch") return error(ErrorKind::Forbidden, "no");
    return std::nullopt;
  });
  finished_with(stored, kKilo);
  ASSERT_FALSE(small.finish_revision(anchor, stored, Context()).ok());
  cluster.set_before({});
  EXPECT_GT(chunks().size(), record.size());
  ASSERT_TRUE(store.sweep_chunks(id, Context()).ok());
  EXPECT_EQ(chunks(), record);
}

// By a tool that rewrites metadata, or by hand.
TEST_F(StoreTest, ARevisionThatLostItsMetadataKeepsItsChunks) {
  const Anchor anchor = born();
  Revision stored = revision(kKilo);
  ASSERT_TRUE(small.create_revision(anchor, stored, *Store::pack(stored), Context()).ok());
  finished_with(stored, kKilo);
  ASSERT_TRUE(small.finish_revision(anchor, stored, Context()).ok());
  const std::set<std::string> before = chunks();
  ASSERT_GE(before.size(), 6u);
  const Value whole_secret = *cluster.find("Secret", "default", revision_name(id, 0));
  for (const std::string_view member : {"labels", "annotations"}) {
    Value secret = whole_secret;
    secret["metadata"].erase(member);
    cluster.put(secret);
    ASSERT_TRUE(store.sweep_chunks(id, Context()).ok());
    EXPECT_EQ(chunks(), before) << member;
  }
  // The next write to it gives it both back.
  ASSERT_TRUE(small.finish_revision(anchor, stored, Context()).ok());
  const Value healed = *cluster.find("Secret", "default", revision_name(id, 0));
  EXPECT_EQ(healed.string_at({"metadata", "annotations", apply::kAttemptAnnotation}), "abcd");
  EXPECT_EQ(*healed.at_path({"metadata", "labels"}), *whole_secret.at_path({"metadata", "labels"}));
  // Without the revision nobody needs them.
  cluster.drop({{"", "Secret"}, "default", revision_name(id, 0)});
  ASSERT_TRUE(store.sweep_chunks(id, Context()).ok());
  EXPECT_THAT(chunks(), IsEmpty());
}

TEST_F(StoreTest, AnAnchorThatLostItsLabelsGetsThemBack) {
  born();
  Value secret = *cluster.find("Secret", "default", apply::anchor_name(id));
  const Value labels = *secret.at_path({"metadata", "labels"});
  secret["metadata"].erase("labels");
  cluster.put(secret);
  Anchor anchor = whole();
  ASSERT_TRUE(store
                  .change_anchor(anchor,
                                 {.head = Head(), .lock = {}, .group_kinds = {}, .additional_namespaces = {}},
                                 Context())
                  .ok());
  const Value healed = *cluster.find("Secret", "default", apply::anchor_name(id));
  EXPECT_EQ(*healed.at_path({"metadata", "labels"}), labels);
}

// More than metadata is read only where there are chunks of inventories.
TEST_F(StoreTest, SweepingAfterChunksOfARecordReadsNoRevision) {
  const Anchor anchor = born();
  Revision stored = revision(kKilo);
  ASSERT_TRUE(small.create_revision(anchor, stored, *Store::pack(stored), Context()).ok());
  finished_with(stored, 10);
  ASSERT_TRUE(small.finish_revision(anchor, stored, Context()).ok());
  ASSERT_THAT(chunks(), ::testing::Contains("abcd.0"));
  cluster.clear_calls();
  ASSERT_TRUE(store.sweep_chunks(id, Context()).ok());
  EXPECT_EQ(cluster.calls().size(), 1u);
}

TEST_F(StoreTest, AChunkOfOtherBytesIsNotTakenForOurOwn) {
  const Anchor anchor = born();
  Revision stored = revision(kKilo);
  ASSERT_TRUE(small.create_revision(anchor, stored, *Store::pack(stored), Context()).ok());
  cluster.drop({{"", "Secret"}, "default", revision_name(id, 0)});
  ASSERT_TRUE(small.create_revision(anchor, stored, *Store::pack(stored), Context()).ok())
      << "the same bytes are our own first try";
  cluster.drop({{"", "Secret"}, "default", revision_name(id, 0)});
  stored.user_values = Value::object({{"noise", noise(kKilo, 9)}});
  const Status other = small.create_revision(anchor, stored, *Store::pack(stored), Context());
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind, ErrorKind::Conflict);
}

TEST_F(StoreTest, WhoReadsWhileTheInventoryIsWrittenAnewReadsTheNewOne) {
  const Anchor anchor = born();
  Revision stored = revision(10);
  ASSERT_TRUE(store.create_revision(anchor, stored, *Store::pack(stored), Context()).ok());
  finished_with(stored, kKilo, 2);
  ASSERT_TRUE(small.finish_revision(anchor, stored, Context()).ok());
  const auto others = cluster.client_for("bob");
  Store writer(*others, kSmall);
  std::atomic<bool> written{false};
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.user == "bob" || !call.key.name.starts_with(revision_name(id, 0) + ".") ||
        written.exchange(true))
      return std::nullopt;
    stored.inventory = {named(noise(kKilo, 3))};
    EXPECT_TRUE(writer.finish_revision(anchor, stored, Context()).ok());
    EXPECT_TRUE(writer.sweep_chunks(id, Context()).ok());
    return std::nullopt;
  });
  const std::string read = inventory_name(store);
  EXPECT_TRUE(written);
  EXPECT_EQ(read, stored.inventory[0].key.name);
}

TEST_F(StoreTest, AMissingChunkIsDamageThatNamesIt) {
  const Anchor anchor = born();
  const Revision stored = revision(kKilo);
  ASSERT_TRUE(small.create_revision(anchor, stored, *Store::pack(stored), Context()).ok());
  cluster.drop({{"", "Secret"}, "default", revision_name(id, 0) + ".abcd.2"});
  const auto read = store.read_revision(whole(), 0, Context());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().kind, ErrorKind::Internal);
  EXPECT_THAT(read.error().to_line(), HasSubstr("mistletoe.web.v0 is damaged"));
  EXPECT_THAT(read.error().to_line(), HasSubstr("mistletoe.web.v0.abcd.2"));
}

TEST_F(StoreTest, ARevisionThatSomebodyElseWroteIsNotRead) {
  stored(born(), 0);
  stored(whole(), 1);
  EXPECT_EQ(why_not(0), "ok");
  // With a key of their own.
  Anchor theirs = whole();
  SystemRandom random;
  theirs.seals = Seals::draw(random, 0);
  stored(theirs, 2);
  EXPECT_THAT(why_not(2), HasSubstr("doesn't have the release's seal"));
  theirs.seals = Seals::none();
  stored(theirs, 3);
  EXPECT_THAT(why_not(3), HasSubstr("doesn't have the release's seal"));
  // One of another release, which has its key in common.
  theirs = whole();
  theirs.id.name = "other";
  const Revision made = stored(theirs, 4);
  Value copy = *cluster.find("Secret", "default", "mistletoe.other.v4");
  copy["metadata"].set("name", "mistletoe.web.v4");
  copy["metadata"].erase("uid");
  cluster.put(copy);
  EXPECT_THAT(why_not(4), HasSubstr("doesn't have the release's seal"));
}

TEST_F(StoreTest, NothingOfARevisionCanBeChangedOrPassForAnother) {
  stored(born(), 0);
  stored(whole(), 1);
  const Value first = *cluster.find("Secret", "default", "mistletoe.web.v0");
  const Value second = *cluster.find("Secret", "default", "mistletoe.web.v1");
  const auto with = [&](std::string_view from_first) {
    cluster.drop({{"", "Secret"}, "default", "mistletoe.web.v1"});
    Value mixed = second;
    mixed["metadata"].erase("uid");
    if (from_first == "all") mixed.set("data", *first.find("data"));
    for (const std::string_view key : {"record", "recordSeal", "inventory", "inventorySeal"}) {
      if (key.starts_with(from_first)) mixed["data"].set(key, first.string_at({"data", key}));
    }
    cluster.put(mixed);
    return why_not(1);
  };
  EXPECT_EQ(with("nothing"), "ok");
  for (const std::string_view part : {"all", "record", "inventory"})
    EXPECT_THAT(with(part), HasSubstr("seal")) << part;
  with("nothing");
  forge("mistletoe.web.v1",
        [](Value& secret) { secret["metadata"]["annotations"].set(apply::kStatusAnnotation, "failed"); });
  EXPECT_THAT(why_not(1), HasSubstr("its status"));
  with("nothing");
  forge("mistletoe.web.v1", [](Value& secret) {
    secret["data"].erase("inventory");
    secret["data"].erase("inventorySeal");
  });
  EXPECT_THAT(why_not(1), HasSubstr("its status"));
  with("nothing");
  forge("mistletoe.web.v1", [](Value& secret) { secret.set("type", "Opaque"); });
  EXPECT_THAT(why_not(1), HasSubstr("its type"));
}

TEST_F(StoreTest, AnAnchorWithAForeignHeadOrSeedSaysSo) {
  Anchor anchor = born();
  stored(anchor, 0);
  Head head;
  head.latest = head.deployed = 0;
  head.status = RevisionStatus::Deployed;
  anchor = whole();
  ASSERT_TRUE(store
                  .change_anchor(anchor,
                                 {.head = head, .lock = {}, .group_kinds = {}, .additional_namespaces = {}},
                                 Context())
                  .ok());
  EXPECT_THAT(whole().damage, IsEmpty());
  const Value good = *cluster.find("Secret", "default", "mistletoe.web");
  forge("mistletoe.web", [](Value& secret) {
    secret["metadata"]["annotations"].set(apply::kHeadAnnotation,
                                          R"({"latest":7,"deployed":7,"status":"uninstalling"})");
  });
  EXPECT_EQ(whole().head.latest, 0) << "as the revisions tell";
  EXPECT_EQ(whole().head.status, RevisionStatus::Deployed);
  EXPECT_THAT(whole().damage, ElementsAre(HasSubstr("seal")));
  forge("mistletoe.web", [&](Value& secret) {
    secret = good;
    secret["data"].set("seed", base64_encode(std::string(32, 'x')));
  });
  EXPECT_TRUE(whole().seed.empty()) << "nothing is rendered with a seed that somebody else knows";
  EXPECT_THAT(whole().damage, ElementsAre(HasSubstr("its seed")));
  forge("mistletoe.web", [&](Value& secret) {
    secret = good;
    secret["data"].erase("key");
  });
  EXPECT_THAT(whole().damage, ::testing::Contains(HasSubstr("key of its seals")));
  EXPECT_THAT(why_not(0), HasSubstr("seal"));
  forge("mistletoe.web", [&](Value& secret) {
    secret = good;
    secret.set("type", "kubernetes.io/tls");
  });
  const auto none = store.read_anchor(id, Context());
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().to_line(), HasSubstr("has the name of a release record, but is not one"));
}

// Of a time without a key there may be revisions that are believed: nobody else may say which.
TEST_F(StoreTest, FromWhichRevisionOnThereAreSealsIsSealed) {
  stored(born(), 0);
  Anchor theirs = whole();
  theirs.seals = Seals::none();
  stored(theirs, 1);
  forge("mistletoe.web", [](Value& secret) { secret["data"].set("sealedFrom", base64_encode("99")); });
  EXPECT_THAT(why_not(1), HasSubstr("seal"));
  EXPECT_EQ(why_not(0), "ok");
  EXPECT_THAT(whole().damage, ::testing::Contains(HasSubstr("seal")));
  forge("mistletoe.web", [](Value& secret) { secret["data"].erase("seed"); });
  EXPECT_THAT(why_not(1), HasSubstr("seal"));
}

TEST_F(StoreTest, ALabelAloneMakesNoRevisionOfASecret) {
  const Anchor anchor = born();
  stored(anchor, 0);
  Value victim = *cluster.find("Secret", "default", "mistletoe.web.v0");
  victim["metadata"].set("name", "crown-jewels");
  victim["metadata"].erase("uid");
  cluster.put(victim);
  victim["metadata"]["labels"].set(apply::kRecordLabel, "chunk");
  victim["metadata"].set("name", "pearls");
  cluster.put(victim);
  EXPECT_EQ(store.list_revisions(id, Context())->size(), 1u);
  Value endless = victim;
  endless["metadata"].set("name", "mistletoe.web.v2147483647");
  endless["metadata"]["labels"].set(apply::kRevisionLabel, "v2147483647");
  endless["metadata"]["labels"].set(apply::kRecordLabel, "revision");
  cluster.put(endless);
  EXPECT_EQ(store.list_revisions(id, Context())->size(), 1u) << "there is a number after each";
  EXPECT_EQ(store.sweep_chunks(id, Context())->size(), 1u);
  ASSERT_TRUE(store.delete_revisions(id, {}, Context()).ok());
  EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web.v0"));
  EXPECT_TRUE(cluster.has("Secret", "default", "crown-jewels"));
  EXPECT_TRUE(cluster.has("Secret", "default", "pearls"));
  victim["metadata"]["labels"].set(apply::kRecordLabel, "anchor");
  victim["metadata"].set("name", "opal");
  cluster.put(victim);
  EXPECT_EQ(store.list_anchors("", Context())->size(), 1u);
}

TEST_F(StoreTest, ARecordOfATimeBeforeSealsIsBelievedUpToItsKey) {
  Anchor anchor = born(false);
  stored(anchor, 0);
  EXPECT_FALSE(whole().seals.needed());
  EXPECT_EQ(why_not(0), "ok");
  SystemRandom random;
  anchor = whole();
  ASSERT_TRUE(store
                  .change_anchor(anchor,
                                 {.head = Head(),
                                  .lock = {},
                                  .group_kinds = {},
                                  .additional_namespaces = {},
                                  .seals = Seals::draw(random, 1)},
                                 Context())
                  .ok());
  stored(anchor, 1);
  EXPECT_THAT(whole().damage, IsEmpty());
  EXPECT_EQ(whole().seed, anchor.seed);
  EXPECT_EQ(why_not(0), "ok");
  EXPECT_EQ(why_not(1), "ok");
  anchor.seals = Seals::none();
  stored(anchor, 2);
  EXPECT_THAT(why_not(2), HasSubstr("seal"));
}

}  // namespace
}  // namespace mist::release
