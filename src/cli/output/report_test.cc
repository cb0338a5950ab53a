#include "cli/output/report.h"

#include <gtest/gtest.h>

#include "base/diagnosis.h"
#include "encoding/json.h"

namespace mist::cli {
namespace {

Error deep_error() {
  return error(ErrorKind::Invalid, "cannot apply Deployment shop/api")
      .at({.file = "values.yaml", .line = 12, .column = 13, .excerpt = "  replicas: many"})
      .with_because("admission webhook denied it:\nno \x1b[31mred\x1b[0m things")
      .with_frame("while applying Deployment shop/api")
      .with_frame("while installing shop")
      .with_hint("mistctl inspect package ./shop\nshows what it accepts")
      .caused_by(
          error(ErrorKind::Retryable, "cannot connect to 127.0.0.1:1").with_because("connection refused"));
}

TEST(Report, ShowsEveryField) {
  EXPECT_EQ(render_error(deep_error(), false),
            "error: cannot apply Deployment shop/api\n"
            "  at values.yaml:12:13\n"
            "       |\n"
            "    12 |   replicas: many\n"
            "       |             ^\n"
            "  because: admission webhook denied it:\n"
            "    no \\x1b[31mred\\x1b[0m things\n"
            "  while applying Deployment shop/api\n"
            "  while installing shop\n"
            "  caused by: cannot connect to 127.0.0.1:1\n"
            "    because: connection refused\n"
            "  try: mistctl inspect package ./shop\n"
            "    shows what it accepts\n");
}

Error diagnosed_error() {
  Diagnosis container{.kind = "container",
                      .name = "main",
                      .state = "CrashLoopBackOff, 7 restarts: ended with exit code 1",
                      .reason = "CrashLoopBackOff",
                      .exit_code = 1,
                      .log = {"starting", "\x1b[31mpanic\x1b[0m: no database"},
                      .log_is_previous = true};
  Diagnosis pod{
      .kind = "Pod",
      .name = "shop/api-1",
      .state = "Running, not ready",
      .events = {{.warning = true, .reason = "BackOff", .message = "Back-off\nrestarting", .count = 5}},
      .notes = {"2 more pods like it"},
      .children = {container}};
  Diagnosis other{.kind = "Job", .name = "shop/once", .state = "DeadlineExceeded"};
  Diagnosis root{
      .kind = "Release", .name = "shop/web", .state = "2 objects are not ready", .children = {pod, other}};
  Error failure = error(ErrorKind::Timeout, "2 objects are not ready after 5m00s");
  return diagnosed(std::move(failure), std::move(root));
}

TEST(Report, DrawsADiagnosisAsATreeWithHarmlessText) {
  EXPECT_EQ(render_error(diagnosed_error(), false),
            "error: 2 objects are not ready after 5m00s\n"
            "  Release shop/web: 2 objects are not ready\n"
            "  ├─ Pod shop/api-1: Running, not ready\n"
            "  │  │  (2 more pods like it)\n"
            "  │  └─ container main: CrashLoopBackOff, 7 restarts: ended with exit code 1\n"
            "  │     last log │ starting\n"
            "  │     last log │ \\x1b[31mpanic\\x1b[0m: no database\n"
            "  └─ Job shop/once: DeadlineExceeded\n");
  EXPECT_NE(render_error(diagnosed_error(), true).find("\x1b["), std::string::npos);
}

TEST(Report, SaysARemedyOnce) {
  Diagnosis set{.kind = "StatefulSet", .name = "shop/db", .state = "0 of 1", .remedy = "delete the Pod"};
  Error failure = error(ErrorKind::Timeout, "not ready").with_hint("fix the cause; delete the Pod");
  EXPECT_EQ(render_error(diagnosed(std::move(failure), std::move(set)), false),
            "error: not ready\n"
            "  StatefulSet shop/db: 0 of 1\n"
            "  try: fix the cause; delete the Pod\n");
}

TEST(Report, ColorsOnlyAddSequences) {
  std::string colored = render_error(deep_error(), true);
  EXPECT_NE(colored.find("\x1b[1;31merror:"), std::string::npos);
  for (std::size_t start; (start = colored.find('\x1b')) != std::string::npos;)
    colored.erase(start, colored.find('m', start) - start + 1);
  EXPECT_EQ(colored, render_error(deep_error(), false));
}

TEST(Report, TheCaretStandsBelowTheColumnWhateverTheWidth) {
  const Error failure = error(ErrorKind::Invalid, "bad")
                            .at({.file = "x", .line = 1, .column = 5, .excerpt = "名\t:\x01 value"});
  // 名 takes two columns, the tab becomes one, the control character four.
  EXPECT_EQ(render_error(failure, false),
            "error: bad\n  at x:1:5\n      |\n    1 | 名 :\\x01 value\n      |         ^\n");
}

TEST(Report, ALongLineIsCutAroundTheColumn) {
  const std::string line = std::string(5000, 'a') + "B" + std::string(5000, 'c');
  const std::string text = render_error(
      error(ErrorKind::Invalid, "bad").at({.file = "x", .line = 1, .column = 5001, .excerpt = line}), false);
  EXPECT_LT(text.size(), 400u);
  const std::size_t row = text.find("1 | ") + 4, caret = text.find("  | ", row) + 4;
  const std::size_t column = text.find('^', caret) - caret;
  // The ellipsis is three bytes and one column.
  EXPECT_EQ(text[row + column + 2], 'B');
}

TEST(Report, BoundsLongTextsAndChains) {
  EXPECT_LT(
      render_error(error(ErrorKind::Internal, "x").with_because(std::string(1 << 20, 'y')), false).size(),
      5000u);
  Error chain = error(ErrorKind::Internal, "end");
  for (int i = 0; i < 1000; ++i) chain = error(ErrorKind::Internal, "link").caused_by(std::move(chain));
  EXPECT_LT(render_error(chain, false).size(), 5000u);
  EXPECT_LT(encoding::to_json(error_to_value(chain, ExitCode::Failed)).size(), 5000u);
}

TEST(Report, AnEmptyMessageStillSaysWhatKind) {
  Error failure;
  failure.kind = ErrorKind::Timeout;
  EXPECT_EQ(render_error(failure, false), "error: Timeout\n");
}

TEST(Report, JsonHasTheSameFields) {
  EXPECT_EQ(
      encoding::to_json(error_to_value(deep_error(), ExitCode::Failed)),
      R"({"kind":"Error","exitCode":1,"error":{"kind":"Invalid","message":"cannot apply Deployment shop/api",)"
      R"("where":{"file":"values.yaml","line":12,"column":13,"excerpt":"  replicas: many","package":null},)"
      R"("because":"admission webhook denied it:\nno \u001b[31mred\u001b[0m things",)"
      R"("frames":[{"text":"while applying Deployment shop/api"},{"text":"while installing shop"}],)"
      R"("hint":"mistctl inspect package ./shop\nshows what it accepts","diagnosis":null,)"
      R"("cause":{"kind":"Retryable","message":"cannot connect to 127.0.0.1:1","where":null,)"
      R"("because":"connection refused","frames":[],"hint":null,"diagnosis":null,"cause":null}}})");
}

TEST(Report, ExitCodesFollowTheKind) {
  EXPECT_EQ(exit_code_of(error(ErrorKind::Usage, "x")), ExitCode::Usage);
  EXPECT_EQ(exit_code_of(error(ErrorKind::Cancelled, "x")), ExitCode::Interrupted);
  EXPECT_EQ(exit_code_of(error(ErrorKind::Forbidden, "x")), ExitCode::Failed);
}

}  // namespace
}  // namespace mist::cli
