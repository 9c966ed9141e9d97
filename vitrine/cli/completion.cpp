#include <memory>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/cli/reference/completion_scripts.h"

namespace vitrine::cli {
namespace {

using Writer = std::string (*)(const CommandReference& program);

enum class Shell { Bash, Zsh, Fish };

const Choices<Shell>& shell_names() {
  static const Choices<Shell> names = {
      {"bash", Shell::Bash}, {"zsh", Shell::Zsh}, {"fish", Shell::Fish}};
  return names;
}

Writer writer_of(Shell shell) {
  switch (shell) {
    case Shell::Zsh:
      return zsh_completion;
    case Shell::Fish:
      return fish_completion;
    default:
      return bash_completion;
  }
}

}  // namespace

Command completion_command() {
  return {"completion", "print a script that has a shell complete commands and options",
          [](CLI::App& app) {
            const auto shell = std::make_shared<Shell>();
            take_one_of(app.add_option("shell", *shell, "the shell"), shell_names())->required();
            app.footer(
                "vitrine completion bash > ~/.local/share/bash-completion/completions/vitrine\n"
                "vitrine completion zsh > DIRECTORY_OF_FPATH/_vitrine\n"
                "vitrine completion fish > ~/.config/fish/completions/vitrine.fish\n\n"
                "Packages install these scripts.");
            return [shell, &app](Streams s) {
              s.out << writer_of(*shell)(reference_of(*app.get_parent()));
              return 0;
            };
          }};
}

}  // namespace vitrine::cli
