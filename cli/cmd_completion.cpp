#include <cstdio>

#include "cli/common.h"
#include "cli/completion.h"
#include "cli/usage.h"

namespace kith {
namespace {

constexpr const char* kHowTo = R"(What to do with it

  bash   kith completion bash > ~/.local/share/bash-completion/completions/kith
         or, for this shell alone: source <(kith completion bash)
  zsh    kith completion zsh > "${fpath[1]}/_kith", then start zsh anew
  fish   kith completion fish > ~/.config/fish/completions/kith.fish

An installed kith has put all three where the shells look.)";

}  // namespace

void add_completion(CLI::App& app) {
  auto* command = app.add_subcommand(
      "completion", "A script by which a shell completes commands of kith");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "For which shell")
      ->required()
      ->check(one_of(completion_shells()));
  command->footer(kHowTo);
  command->callback([&app, shell] {
    std::fputs(completion_script(app, *shell).c_str(), stdout);
  });
}

}  // namespace kith
