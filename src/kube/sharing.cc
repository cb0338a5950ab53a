#include "kube/sharing.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/held_lease.h"

namespace mist::kube {
namespace {

constexpr std::string_view kLabel = "mistletoe.dev/shares";  // on all Leases of one division: its name
constexpr std::string_view kDivisionAnnotation = "mistletoe.dev/slots";
// As long as giving up everything may take at the end.
constexpr Duration kFarewell = std::chrono::seconds(5);
constexpr int kFarewellTries = 5;

class Sharing {
 public:
  using Work = std::function<Status(const Share&, const Context&)>;

  Sharing(Client& client, Clock& clock, EventSink& events, const SharingOptions& options, const Work& work)
      : client_(client),
        clock_(clock),
        events_(events),
        options_(options),
        work_(work),
        lease_(client, clock,
               {.ns = options.ns,
                .name = fmt::format("{}-{}", options.name, options.id),
                .identity = options.identity,
                .term = options.term,
                .labels = labels()}) {}

  Status run(const Context& context) {
    context_ = context;
    MIST_TRY_VOID(lease_.begin(context));
    slots_ = lease_.ref();
    slots_.name = options_.name + "-slots";
    // Says at once what is wrong with server or permissions.
    MIST_TRY_VOID(leases(context));
    MIST_TRY_VOID(lease_.take(std::nullopt, context));
    events_.info(fmt::format("shares the namespaces: it holds Lease {}", lease_.display()));
    std::jthread renewer([this](const std::stop_token& stop) { renew(stop); });
    Status done = take_part(context);
    end_work();
    renewer.request_stop();
    renewer.join();
    if (loss_) return *std::move(loss_);
    MIST_TRY_VOID(check());
    say_farewell();
    return done;
  }

 private:
  struct Worker {
    Slots slots;
    std::stop_source stop;
    std::optional<Status> result = {};  // guarded by mutex_
    std::jthread thread = {};
  };

  Value labels() const { return Value::object({{std::string(kLabel), options_.name}}); }

  Result<ObjectList> leases(const Context& context) {
    return client_.list(lease_.ref().resource,
                        {.ns = options_.ns, .label_selector = fmt::format("{}={}", kLabel, options_.name)},
                        context);
  }

  Status take_part(const Context& context) {
    while (true) {
      {
        // At first too: those who start at the same time are to see one another.
        std::unique_lock lock(mutex_);
        wake_.wait_for(lock, context.stop(), options_.retry,
                       [this] { return loss_ || (worker_ && worker_->result); });
        if (loss_) return {};
      }
      if (context.stop().stop_requested()) return {};
      if (auto ended = collect()) return *std::move(ended);
      Status round = look(context.with_timeout(options_.term));
      if (round.ok() || round.error().kind == ErrorKind::Conflict) continue;
      if (round.error().kind == ErrorKind::Invalid) return round;
      if (!context.stop().stop_requested())
        events_.warn(fmt::format("sharing the namespaces: {}", round.error().to_line()));
    }
  }

  // The result of work that ended without being told to: taking part ends with it.
  std::optional<Status> collect() {
    Status result;
    {
      const std::lock_guard lock(mutex_);
      if (!worker_ || !worker_->result) return std::nullopt;
      result = *std::move(worker_->result);
    }
    const bool was_told = worker_->stop.stop_requested();
    end_work();
    return was_told ? std::nullopt : std::optional(std::move(result));
  }

  void end_work() {
    if (!worker_) return;
    worker_->stop.request_stop();
    worker_->thread.join();
    const std::lock_guard lock(mutex_);
    worker_.reset();
    options_.told(Share(Slots()));
  }

  void begin_work(const Slots& slots) {
    events_.info(fmt::format("works in slots {} of {}", to_text(slots), kSlots));
    options_.told(Share(slots));
    Worker& worker = worker_.emplace(Worker{.slots = slots, .stop = {}});
    worker.thread = std::jthread([this, &worker] {
      const std::stop_callback whole(context_.stop(), [&] { worker.stop.request_stop(); });
      Status done = work_(Share(worker.slots),
                          context_.with_stop(worker.stop.get_token()).with_guard([this] { return check(); }));
      const std::lock_guard lock(mutex_);
      worker.result = std::move(done);
      wake_.notify_all();
    });
  }

  Error lost_to(std::string because) const {
    return error(ErrorKind::Conflict, "its share was lost: Lease {} is no longer this process's",
                 lease_.display())
        .with_because(std::move(because));
  }
  Status check() const { return lease_.in_force() ? Status() : lost_to("it was not renewed in time"); }

  // Beside everything else, which may take its time.
  void renew(const std::stop_token& stop) {
    const std::optional<std::string> failure = lease_.keep(options_.retry, stop);
    if (!failure) return;
    const std::lock_guard lock(mutex_);
    loss_ = lost_to(*failure);
    wake_.notify_all();
  }

  // Conflict: somebody else wrote at the same time.
  Status look(const Context& context) {
    MIST_TRY(const ObjectList found, leases(context));
    std::optional<Value> kept;
    std::set<std::string> live{options_.identity};
    for (const Value& each : found.items) {
      if (each.string_at({"metadata", "name"}) == slots_.name)
        kept = each;
      else
        MIST_TRY_VOID(look_at(each, live, context));
    }
    // Somebody may have taken its label.
    if (!kept) {
      auto unlabelled = client_.get(slots_, context);
      if (unlabelled.ok())
        kept = *std::move(unlabelled);
      else if (unlabelled.error().kind != ErrorKind::NotFound)
        return std::move(unlabelled).error();
    }
    const std::string_view text =
        kept ? kept->string_at({"metadata", "annotations", kDivisionAnnotation}) : std::string_view();
    auto division = Division::parse(text);
    if (!division.ok())
      return std::move(division)
          .error()
          .with_frame(fmt::format("while reading the annotation {} of Lease {}/{}", kDivisionAnnotation,
                                  slots_.ns, slots_.name))
          .with_hint("stop all replicas, and delete that Lease");
    return go_on(*std::move(division), kept, live, context);
  }

  Status go_on(Division division, const std::optional<Value>& kept, const std::set<std::string>& live,
               const Context& context) {
    const std::string before = division.text();
    forget_gone(division, live);
    const Division::Step step = division.step(options_.identity, live);
    const Slots own = division.of(options_.identity);
    // Slots are given up only when nobody works on them any more.
    if (step.give.any() && !worker_) division.set(options_.identity, own & ~step.give);
    if (step.take.any()) division.set(options_.identity, own | step.take);
    if (!kept || division.text() != before) MIST_TRY_VOID(write(division, kept, context));
    const Slots wanted = division.of(options_.identity) & ~step.give;
    if (worker_ && worker_->slots != wanted) worker_->stop.request_stop();
    if (!worker_ && wanted.any()) begin_work(wanted);
    return {};
  }

  // Adds its holder, unless that was silent for a term and can't renew it any more. Errors: it can't be
  // deleted.
  Status look_at(const Value& lease, std::set<std::string>& live, const Context& context) {
    const std::string holder(lease.string_at({"spec", "holderIdentity"}));
    if (holder.empty()) return {};
    const std::string version(lease.string_at({"metadata", "resourceVersion"}));
    const SteadyTime now = clock_.steady_now();
    auto& [seen, since] = seen_[holder];
    if (seen != version) {
      seen = version;
      since = now;
    }
    live.insert(holder);
    if (holder == options_.identity || now - since < HeldLease::term_of(lease)) return {};
    ObjectRef ref = lease_.ref();
    ref.name = lease.string_at({"metadata", "name"});
    const auto removed = client_.remove(
        ref, {.uid = std::string(lease.string_at({"metadata", "uid"})), .resource_version = version},
        context);
    // It was renewed meanwhile.
    if (!removed.ok() && removed.error().kind == ErrorKind::Conflict) return {};
    if (!removed.ok() && removed.error().kind != ErrorKind::NotFound)
      return Error(removed.error())
          .with_frame(
              fmt::format("while deleting the Lease of {}, which is silent", escape_controls(holder)));
    events_.warn(fmt::format("{} is silent: its slots go to others", escape_controls(holder)));
    live.erase(holder);
    gone_.insert(holder);
    return {};
  }

  // Those without a Lease. One that somebody else has deleted is believed to be gone after a term.
  void forget_gone(Division& division, const std::set<std::string>& live) {
    const SteadyTime now = clock_.steady_now();
    std::map<std::string, SteadyTime> missing;
    const Division before = division;
    for (const auto& [replica, slots] : before.owners()) {
      if (live.contains(replica)) continue;
      const auto known = missing_.find(replica);
      const SteadyTime since = known == missing_.end() ? now : known->second;
      missing.emplace(replica, since);
      if (gone_.contains(replica) || now - since >= options_.term) division.set(replica, Slots());
    }
    missing_ = std::move(missing);
    std::erase_if(gone_, [&](const std::string& each) { return !missing_.contains(each); });
    std::erase_if(seen_, [&](const auto& each) { return !live.contains(each.first); });
  }

  Status write(const Division& division, const std::optional<Value>& kept, const Context& context) {
    Value lease = kept.value_or(Value::object());
    lease.set("apiVersion", "coordination.k8s.io/v1");
    lease.set("kind", "Lease");
    Value& metadata = lease["metadata"];
    metadata.set("name", slots_.name);
    metadata.set("namespace", slots_.ns);
    metadata["labels"].set(std::string(kLabel), options_.name);
    metadata["annotations"].set(std::string(kDivisionAnnotation), division.text());
    if (kept) {
      MIST_TRY_VOID(client_.update(slots_, lease, context));
    } else {
      MIST_TRY_VOID(client_.create(slots_.resource, slots_.ns, lease, context));
    }
    return {};
  }

  void say_farewell() {
    const Context context = Context().with_timeout(kFarewell);
    Status left = leave(context);
    for (int i = 1; i < kFarewellTries && !left.ok() && left.error().kind == ErrorKind::Conflict; ++i)
      left = leave(context);
    if (!left.ok())
      return events_.warn(
          fmt::format("its slots could not be given up, and wait for a term: {}", left.error().to_line()));
    const Status removed = lease_.remove(context);
    if (!removed.ok() && removed.error().kind != ErrorKind::NotFound)
      events_.warn(
          fmt::format("Lease {} could not be deleted: {}", lease_.display(), removed.error().to_line()));
  }

  Status leave(const Context& context) {
    auto kept = client_.get(slots_, context);
    if (!kept.ok()) return kept.error().kind == ErrorKind::NotFound ? Status() : std::move(kept).error();
    MIST_TRY(Division division,
             Division::parse(kept->string_at({"metadata", "annotations", kDivisionAnnotation})));
    if (division.of(options_.identity).none()) return {};
    division.set(options_.identity, Slots());
    return write(division, *std::move(kept), context);
  }

  Client& client_;
  Clock& clock_;
  EventSink& events_;
  const SharingOptions& options_;
  const Work& work_;
  Context context_;  // of the work: that of a look ends sooner
  HeldLease lease_;  // the renewer's alone while it runs, but for in_force()
  ObjectRef slots_;
  std::map<std::string, std::pair<std::string, SteadyTime>> seen_;  // versions of Leases, by holder
  std::map<std::string, SteadyTime> missing_;                       // owners of slots that have no Lease
  std::set<std::string> gone_;                                      // of those: that were seen to be silent
  std::mutex mutex_;                                                // of Worker::result and loss_
  std::optional<Error> loss_;
  std::condition_variable_any wake_;
  std::optional<Worker> worker_;
};

}  // namespace

Status share(Client& client, Clock& clock, EventSink& events, const SharingOptions& options,
             const std::function<Status(const Share&, const Context&)>& work, const Context& context) {
  return Sharing(client, clock, events, options, work).run(context);
}

}  // namespace mist::kube
