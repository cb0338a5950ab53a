#include "view/deployments.h"

#include <gtest/gtest.h>

namespace mist::view {
namespace {

TEST(UninstallText, WhatGoesBackToItsReleaseIsSaidOncePerRelease) {
  const auto removal = [](std::string name, std::string_view owner, std::string_view reason) {
    apply::PlannedAction action;
    action.kind = apply::ActionKind::Retain;
    action.key = {{"", "ConfigMap"}, "default", std::move(name)};
    action.owner = owner;
    action.reason = reason;
    return action;
  };
  action::UninstallReport report;
  report.plan.id = {"default", "web"};
  report.plan.removals = {removal("one", "default/theirs", "it goes back"),
                          removal("two", "default/theirs", "it goes back"),
                          removal("three", "default/other", "it goes back"),
                          removal("kept", "", "it carries the annotation mistletoe.dev/keep")};
  report.given_back = 3;
  report.retained = 1;
  EXPECT_EQ(uninstall_text(report, false, "is uninstalled", false),
            "web is uninstalled: 0 objects deleted, 3 given back, 1 retained\n"
            "  ConfigMap default/kept stays: it carries the annotation mistletoe.dev/keep\n"
            "  ConfigMap default/three went back to release default/other\n"
            "  2 objects went back to release default/theirs\n");
  apply::Plan plan;
  plan.removals = report.plan.removals;
  EXPECT_EQ(plan_counts(plan, true), "1 to retain, 3 to give back");
  EXPECT_EQ(plan_counts(plan, false), "1 retained, 3 given back");
}

}  // namespace
}  // namespace mist::view
