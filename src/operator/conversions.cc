#include "operator/conversions.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <set>

#include "base/text.h"
#include "blueprint/converted_parts.h"
#include "blueprint/partial_object.h"
#include "encoding/json.h"
#include "operator/log_fields.h"
#include "operator/words.h"

namespace mist::operator_ {
namespace {

constexpr std::string_view kSuffix = "-conversion";
// On such ConfigMaps: the blueprint ("namespace/name") and what it converts, as JSON.
constexpr std::string_view kOwnerAnnotation = "mistletoe.dev/blueprint",
                           kConvertsAnnotation = "mistletoe.dev/converts";
// The API server takes 1 MiB, names of keys and metadata included.
constexpr std::size_t kMostBytes = 1'000'000;
// So many objects are evaluated together: a limit of the sandbox counts for each such call.
constexpr std::size_t kMostTogether = 200;
constexpr std::chrono::milliseconds kSyncPause{20};

std::string map_name(const std::string& blueprint) { return blueprint + std::string(kSuffix); }

Value texts_of(const std::vector<std::string>& texts) {
  return Value(Value::Array(texts.begin(), texts.end()));
}

std::string converts_text(const Conversion& conversion) {
  return encoding::to_json(Value::object({{"group", conversion.hub.group},
                                          {"kind", conversion.hub.kind},
                                          {"hub", conversion.hub.version},
                                          {"versions", texts_of(conversion.versions)}}));
}

Value files_value(const package::Files& files) {
  Value data = Value::object();
  for (const auto& [name, text] : files) data.set(name, text);
  return data;
}

Value owner_reference(const Value& crd) {
  return Value::object({{"apiVersion", "apiextensions.k8s.io/v1"},
                        {"kind", "CustomResourceDefinition"},
                        {"name", crd.string_at({"metadata", "name"})},
                        {"uid", crd.string_at({"metadata", "uid"})}});
}

bool is_owned_by(const Value& map, const Value& crd) {
  const Value* const owners = map.at_path({"metadata", "ownerReferences"});
  return owners != nullptr && owners->is_array() &&
         std::ranges::any_of(owners->as_array(), [&](const Value& each) {
           return each.string_at("uid") == crd.string_at({"metadata", "uid"});
         });
}

// The value that a function was given is in none of the words.
Error with_place(Error failure, const ConversionReview& review, const Value& object) {
  const std::string_view ns = object.string_at({"metadata", "namespace"});
  failure.message = fmt::format("{} {}{}{} can't be converted from version {} to {}: {}",
                                escape_controls(object.string_at("kind")), ns, ns.empty() ? "" : "/",
                                escape_controls(object.string_at({"metadata", "name"})), version_of(object),
                                review.version, failure.message);
  failure.because.clear();
  return failure;
}

}  // namespace

struct Conversions::InForce {
  std::string map_version;  // resourceVersion
  Conversion conversion;
  std::optional<blueprint::Evaluator> evaluator;
  std::optional<std::map<std::string, Value>> specs;  // the schemas, by version; guarded by specs_mutex
  std::mutex specs_mutex;
  // Objects of one review, from one version to another.
  struct Job {
    const std::string& from;
    const std::string& to;
    const std::vector<Value>& parts;
    std::vector<Value> converted = {};
    std::optional<Error> failure = {};
    std::size_t failing = 0;
    bool alone = false;  // evaluated with others it failed, and nobody knows whose fault that is
    bool done = false;
  };
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;          // guarded by mutex
  bool is_busy = false;    // somebody evaluates; guarded by mutex
  std::deque<Job*> queue;  // guarded by mutex

  // One evaluation at a time: a blueprint has one core's worth of everybody's webhook. Reviews that come
  // meanwhile are evaluated together, which costs little more than one object.
  void evaluate(Job& job, const Context& context) {
    std::unique_lock lock(mutex);
    queue.push_back(&job);
    while (!job.done) {
      if (!is_busy) {
        lead(job, lock, context);
        continue;
      }
      if (changed.wait_until(lock, *context.deadline()) != std::cv_status::timeout || job.done || !is_busy)
        continue;
      // Taken by whoever evaluates, it has to be there until that ends.
      if (std::erase(queue, &job) == 0) {
        changed.wait(lock, [&] { return job.done || std::ranges::find(queue, &job) != queue.end(); });
        continue;
      }
      job.failure = error(ErrorKind::Retryable, "the conversions before it took too long")
                        .with_hint(
                            "try again; where it stays so, the functions to_hub and from_hub of the "
                            "blueprint take long");
      return;
    }
  }

 private:
  void lead(Job& own, std::unique_lock<std::mutex>& lock, const Context& context) {
    std::vector<Job*> jobs;
    std::vector<Value> parts;
    std::erase_if(queue, [&](Job* each) {
      const bool is_own = each == &own;
      const bool fits = !own.alone && !each->alone && each->from == own.from && each->to == own.to &&
                        parts.size() + each->parts.size() <= kMostTogether;
      if (!is_own && !fits) return false;
      jobs.push_back(each);
      parts.insert(parts.end(), each->parts.begin(), each->parts.end());
      return true;
    });
    is_busy = true;
    lock.unlock();
    std::size_t failing = 0;
    auto converted = evaluator->convert(own.from, own.to, parts, failing, context);
    lock.lock();
    is_busy = false;
    settle(jobs, std::move(converted), failing);
    changed.notify_all();
  }

  void settle(const std::vector<Job*>& jobs, Result<std::vector<Value>> converted, std::size_t failing) {
    if (!converted.ok() && jobs.size() > 1) {
      for (Job* const each : jobs) each->alone = true;
      queue.insert(queue.begin(), jobs.begin(), jobs.end());
      return;
    }
    std::size_t begin = 0;
    for (Job* const each : jobs) {
      each->done = true;
      if (!converted.ok()) {
        each->failure = std::move(converted).error();
        each->failing = failing;
        return;
      }
      const auto first = converted->begin() + static_cast<std::ptrdiff_t>(begin);
      begin += each->parts.size();
      each->converted.assign(std::move_iterator(first),
                             std::move_iterator(converted->begin() + static_cast<std::ptrdiff_t>(begin)));
    }
  }
};

Conversions::Conversions(Dependencies dependencies, std::string ns)
    : dependencies_(dependencies), ns_(std::move(ns)) {}
Conversions::~Conversions() = default;

Status Conversions::start(std::function<void()> changed, const Context& context) {
  MIST_TRY(const kube::ResourceInfo maps,
           dependencies_.client.resource_for({"", "ConfigMap"}, "v1", context));
  const kube::ListOptions ours{.ns = ns_, .label_selector = fmt::format("{}=true", kConversionLabel)};
  MIST_TRY_VOID(dependencies_.client.list(maps, ours, context));
  maps_ = std::make_unique<kube::Informer>(
      dependencies_.client, maps, ours,
      [](Value& map) {
        if (Value* const metadata = map.find("metadata")) metadata->erase("managedFields");
      },
      [changed = std::move(changed)](const std::optional<kube::Informer::Key>&) { changed(); },
      dependencies_.clock, dependencies_.events);
  while (!maps_->synced()) MIST_TRY_VOID(context.pause(kSyncPause));
  return {};
}

Status Conversions::publish(const Conversion& conversion, const Value* crd, const Context& context) {
  const std::string name = map_name(conversion.blueprint);
  const std::string owner = fmt::format("{}/{}", ns_, conversion.blueprint);
  const std::string converts = converts_text(conversion);
  const auto live = maps_->get({ns_, name});
  const auto has = [&](std::string_view annotation) {
    return live->string_at({"metadata", "annotations", annotation});
  };
  const Error taken =
      error(ErrorKind::Invalid, "ConfigMap {}/{} exists already, and isn't this blueprint's", ns_, name)
          .with_hint("remove it, or rename the blueprint");
  if (live && has(kOwnerAnnotation) != owner) return taken;
  const bool is_same =
      live && has(kConvertsAnnotation) == converts && blueprint::files_of(*live) == conversion.files;
  if (is_same && (crd == nullptr || is_owned_by(*live, *crd))) return {};
  std::size_t bytes = 0;
  for (const auto& [file, text] : conversion.files) bytes += file.size() + text.size();
  if (bytes > kMostBytes)
    return error(
               ErrorKind::Invalid,
               "the files of the blueprint, which are needed for its conversions, have {} bytes, and {} fit",
               bytes, kMostBytes)
        .with_hint("take out what isn't needed, such as comments and data that a Read node could read");
  Value map = Value::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
  map["metadata"] = Value::object({{"name", name}, {"namespace", ns_}});
  map["metadata"]["labels"].set(kConversionLabel, "true");
  map["metadata"]["annotations"].set(kOwnerAnnotation, owner);
  map["metadata"]["annotations"].set(kConvertsAnnotation, converts);
  if (crd != nullptr) map["metadata"].set("ownerReferences", Value::array({owner_reference(*crd)}));
  map["data"] = files_value(conversion.files);
  auto answer = put(map, live ? std::string() : owner, context);
  if (!answer.ok() && answer.error().kind == ErrorKind::Conflict && !live) return taken;
  if (!answer.ok())
    return std::move(answer).error().with_frame(
        fmt::format("while the conversions of blueprint {} were published", conversion.blueprint));
  maps_->put(*std::move(answer));
  if (!is_same)
    dependencies_.events.info(fmt::format("published the conversions of blueprint {} as ConfigMap {}/{}",
                                          conversion.blueprint, ns_, name),
                              fields_of({conversion.blueprint}, Named::Yes, {"v1", "ConfigMap", ns_, name}));
  return {};
}

// `owner`: of one that isn't seen, which is new, or lost its label and is still this blueprint's.
Result<Value> Conversions::put(const Value& map, const std::string& owner, const Context& context) {
  const kube::ObjectRef ref{maps_->resource(), ns_, std::string(map.string_at({"metadata", "name"}))};
  const kube::ApplyOptions options{.field_manager = std::string(kManager), .force = true};
  if (owner.empty()) return dependencies_.client.apply(ref, map, options, context);
  // The server creates it, or answers 409 and writes nothing.
  Value anew = map;
  anew["metadata"].set("resourceVersion", "1");
  auto created = dependencies_.client.apply(ref, anew, options, context);
  if (created.ok() || created.error().kind != ErrorKind::Conflict) return created;
  const auto there = dependencies_.client.get(ref, context);
  if (!there.ok() || there->string_at({"metadata", "annotations", kOwnerAnnotation}) != owner) return created;
  return dependencies_.client.apply(ref, map, options, context);
}

// null: there is none.
std::shared_ptr<Conversions::InForce> Conversions::in_force(const std::string& blueprint) {
  const auto map = maps_->get({ns_, map_name(blueprint)});
  const std::lock_guard lock(mutex_);
  if (!map) {
    in_force_.erase(blueprint);
    return nullptr;
  }
  const std::string_view version = map->string_at({"metadata", "resourceVersion"});
  std::shared_ptr<InForce>& known = in_force_[blueprint];
  if (known && known->map_version == version) return known;
  auto read = std::make_shared<InForce>();
  read->map_version = version;
  const auto converts =
      encoding::parse_json(map->string_at({"metadata", "annotations", kConvertsAnnotation}));
  if (!converts.ok()) return nullptr;
  read->conversion = {blueprint,
                      {std::string(converts->string_at("group")), std::string(converts->string_at("hub")),
                       std::string(converts->string_at("kind"))},
                      converts->texts_at("versions"),
                      blueprint::files_of(*map)};
  auto evaluator = blueprint::Evaluator::of(blueprint, read->conversion.files, dependencies_.renderer);
  if (!evaluator.ok()) return nullptr;
  read->evaluator = *std::move(evaluator);
  known = read;
  return read;
}

std::string Conversions::kind_of(const std::string& blueprint) {
  const std::shared_ptr<InForce> by = in_force(blueprint);
  return by == nullptr ? std::string() : by->conversion.hub.kind;
}

Result<std::vector<Value>> Conversions::convert(const std::string& blueprint, const ConversionReview& review,
                                                const Context& context) {
  const std::shared_ptr<InForce> by = in_force(blueprint);
  if (by == nullptr)
    return error(ErrorKind::NotFound,
                 "mistletoe-operator has no conversions of a blueprint {} in namespace {}",
                 escape_controls(blueprint), ns_)
        .with_hint(
            fmt::format("they are in ConfigMap {}, which the operator writes when the blueprint is in force",
                        map_name(escape_controls(blueprint))));
  const Conversion& conversion = by->conversion;
  const auto is_known = [&](const std::string& version) {
    return std::ranges::find(conversion.versions, version) != conversion.versions.end();
  };
  if (review.group != conversion.hub.group || !is_known(review.version))
    return error(ErrorKind::Invalid, "blueprint {} has no version {} of group {}", blueprint,
                 escape_controls(review.version), escape_controls(review.group));
  std::set<std::string> from;
  for (const Value& each : review.objects) {
    if (each.string_at("kind") != conversion.hub.kind ||
        each.string_at("apiVersion") != fmt::format("{}/{}", conversion.hub.group, version_of(each)) ||
        !is_known(version_of(each)))
      return error(ErrorKind::Invalid, "{} of {} is no version of {} in blueprint {}",
                   escape_controls(each.string_at("kind")), escape_controls(each.string_at("apiVersion")),
                   conversion.hub.kind, blueprint);
    if (version_of(each) != review.version) from.insert(version_of(each));
  }
  std::vector<Value> objects = review.objects;
  if (from.empty()) return objects;
  class Inside {
   public:
    explicit Inside(InForce& by) : by_(by) {
      const std::lock_guard lock(by.mutex);
      is_one_too_many = ++by.inside > kMostAtOnce;
    }
    ~Inside() {
      const std::lock_guard lock(by_.mutex);
      --by_.inside;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    bool is_one_too_many = false;

   private:
    InForce& by_;
  };
  const Inside inside(*by);
  const Context ours = context.with_timeout(kPatience);
  if (inside.is_one_too_many)
    return error(ErrorKind::Retryable, "too many objects of {} are being converted", conversion.hub.kind)
        .with_hint(
            "try again; where it stays so, the functions to_hub and from_hub of the blueprint take long");
  for (const std::string& each : from) MIST_TRY_VOID(convert_version(*by, each, review, objects, ours));
  return objects;
}

// Those of `objects` that are in that version.
Status Conversions::convert_version(InForce& by, const std::string& from, const ConversionReview& review,
                                    std::vector<Value>& objects, const Context& context) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < review.objects.size(); ++i)
    if (version_of(review.objects[i]) == from) places.push_back(i);
  MIST_TRY(const Value* const schema, schema_of(by, from, context));
  const auto put = [&](std::size_t place, const Value& parts) {
    objects[place] =
        with_parts(std::move(objects[place]), fmt::format("{}/{}", review.group, review.version), parts);
  };
  for (std::size_t begin = 0; begin < places.size(); begin += kMostTogether) {
    const std::size_t end = std::min(begin + kMostTogether, places.size());
    std::vector<Value> parts;
    std::vector<std::size_t> whole;  // the places of `parts`
    for (std::size_t i = begin; i < end; ++i) {
      const Value& object = review.objects[places[i]];
      auto some = blueprint::convertible_parts(object);
      if (!some.ok()) return with_place(std::move(some).error(), review, object);
      if (blueprint::completed(*schema, *some->find("spec"))) {
        auto converted = convert_partial(by, from, review.version, *std::move(some), context);
        if (!converted.ok()) return with_place(std::move(converted).error(), review, object);
        put(places[i], *converted);
        continue;
      }
      parts.push_back(*std::move(some));
      whole.push_back(places[i]);
    }
    if (parts.empty()) continue;
    InForce::Job job{from, review.version, parts};
    by.evaluate(job, context);
    if (job.failure) return with_place(*std::move(job.failure), review, review.objects[whole[job.failing]]);
    for (std::size_t i = 0; i < whole.size(); ++i) put(whole[i], job.converted[i]);
  }
  return {};
}

// In steps, since what the version of the hub requires can be missing as well.
Result<Value> Conversions::convert_partial(InForce& by, const std::string& from, const std::string& to,
                                           Value parts, const Context& context) {
  const std::string& hub = by.conversion.hub.version;
  std::string here = from;
  while (here != to) {
    const std::string& next = here == hub ? to : hub;
    MIST_TRY(const Value* const schema, schema_of(by, here, context));
    const Value before = *parts.find("spec");
    auto filled = blueprint::completed(*schema, before);
    if (filled) parts.set("spec", *filled);
    MIST_TRY(parts, by.evaluator->convert_partial(here, next, parts, context));
    if (filled) blueprint::take_out_filled(before, *filled, parts["spec"]);
    here = next;
  }
  return parts;
}

// Of specs, which say what is missing in an object.
Result<const Value*> Conversions::schema_of(InForce& by, const std::string& version, const Context& context) {
  const std::lock_guard lock(by.specs_mutex);
  if (!by.specs) {
    // One of its own: to be described is nothing for several threads at once.
    MIST_TRY(auto evaluator,
             blueprint::Evaluator::of(by.conversion.blueprint, by.conversion.files, dependencies_.renderer));
    MIST_TRY(const blueprint::Blueprint described, evaluator.describe(context, blueprint::Standing::InForce));
    by.specs.emplace();
    if (described.resource())
      for (const blueprint::ResourceVersion& each : described.resource()->versions)
        by.specs->emplace(each.name, each.spec);
  }
  const auto found = by.specs->find(version);
  static const Value kNone;
  return found == by.specs->end() ? &kNone : &found->second;
}

}  // namespace mist::operator_
