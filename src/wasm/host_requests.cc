#include "wasm/host_requests.h"

#include <limits>

namespace mist::wasm {

namespace {

constexpr std::string_view kTellItsAuthor = "this is a defect of the package: tell its author";

Error outside(std::string_view name, std::string_view what, std::uint64_t address, std::uint64_t length,
              const GuestMemory& memory) {
  return error(ErrorKind::Trap, "{} gave its host a wild address", name)
      .with_because(fmt::format("{} of {} bytes at {:#x} is outside its memory of {} bytes", what, length,
                                address, memory.size()))
      .with_hint(std::string(kTellItsAuthor));
}

}  // namespace

Result<std::uint32_t> HostRequests::request(GuestMemory memory, std::uint64_t address, std::uint64_t length) {
  answer_.reset();
  const auto text = memory.text(address, length);
  if (!text) return outside(name_, "a request", address, length, memory);
  if (length > kMaxRequest)
    return error(ErrorKind::Trap, "{} made a request of {} bytes to its host; at most {} are taken", name_,
                 length, kMaxRequest)
        .with_hint(std::string(kTellItsAuthor));
  if (++count_ > most_)
    return error(ErrorKind::Trap, "{} reached its limit of {} requests to its host", name_, most_)
        .with_hint(raise_hint(flags_, "--limit-requests", fmt::format("{}", most_)));
  if (length > kMaxTogether - together_)
    return error(ErrorKind::Trap, "{} made requests of more than {} MiB together to its host", name_,
                 kMaxTogether >> 20)
        .with_hint(std::string(kTellItsAuthor));
  together_ += length;
  if (handler_ == nullptr)
    return error(ErrorKind::Invalid,
                 "{} makes a request to its host, but host requests are not available here", name_);
  handler_->guest_waits_with(memory.size());
  MIST_TRY(answer_, handler_->answer(*text));
  if (answer_->size() > std::numeric_limits<std::int32_t>::max())
    return error(ErrorKind::Trap, "the answer of {} bytes to a request of {} is too long", answer_->size(),
                 name_);
  answered_ += answer_->size();
  if ((answered_ + kAnswersPerOutput - 1) / kAnswersPerOutput > most_output_)
    return error(ErrorKind::Trap, "{} got answers of more than {} MiB together from its host", name_,
                 kAnswersPerOutput * (most_output_ >> 20))
        .with_hint(raise_hint(flags_, "--limit-output"));
  return static_cast<std::uint32_t>(answer_->size());
}

Status HostRequests::response(GuestMemory memory, std::uint64_t address) const {
  if (!answer_)
    return error(ErrorKind::Trap, "{} wants the answer to a request that it did not make", name_)
        .with_hint(std::string(kTellItsAuthor));
  if (!memory.put_text(address, *answer_))
    return outside(name_, "a place for an answer", address, answer_->size(), memory);
  return {};
}

}  // namespace mist::wasm
