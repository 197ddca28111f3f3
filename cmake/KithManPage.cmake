# cmake -DPROGRAM=kith -DVERSION=0.1.0 -DFOLDER=man -P KithManPage.cmake
# Writes the manual pages: kith.1 says what `kith --help` says, kith-train.1 what
# `kith train --help` does; `man kith train` finds it. A command that has commands
# itself, such as data, has them on its page.

# What `kith ARGN --help` says.
function(read_help out)
  execute_process(COMMAND ${PROGRAM} ${ARGN} --help OUTPUT_VARIABLE help
    COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "${PROGRAM}" kith help "${help}") # not where it was built
  string(STRIP "${help}" help)
  set(${out} "${help}" PARENT_SCOPE)
endfunction()

# roff takes a backslash for an escape, a dot that begins a line for a request,
# and makes other characters of hyphens, quotes and accents.
function(escape_roff out text)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  string(REPLACE "'" "\\(aq" text "${text}")
  string(REPLACE "`" "\\(ga" text "${text}")
  string(REPLACE "^" "\\(ha" text "${text}")
  string(REPLACE "~" "\\(ti" text "${text}")
  string(REGEX REPLACE "(^|\n)[.]" "\\1\\\\&." text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The names of the commands that a help lists.
function(find_commands out help)
  set(names "")
  string(FIND "${help}" "\nSubcommands:\n" place)
  if(NOT place EQUAL -1)
    string(SUBSTRING "${help}" ${place} -1 help)
    string(REGEX MATCHALL "\n  [a-z][a-z_-]*" lines "${help}")
    foreach(line IN LISTS lines)
      string(STRIP "${line}" name)
      list(APPEND names ${name})
    endforeach()
  endif()
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# The head of the page NAME, whose first line of help is SUMMARY.
function(begin_page out name summary synopsis)
  string(TOUPPER "${name}" title)
  string(REGEX REPLACE "[.]$" "" summary "${summary}")
  foreach(text name title summary synopsis)
    escape_roff(${text} "${${text}}")
  endforeach()
  set(${out} ".TH ${title} 1 \"\" \"kith ${VERSION}\" \"User Commands\"
.SH NAME
${name} \\- ${summary}
.SH SYNOPSIS
.B ${synopsis}
[\\fIOPTION\\fR]...
" PARENT_SCOPE)
endfunction()

# The page of COMMAND, as `kith --help` sums it up.
function(write_command_page command summary)
  read_help(help ${command})
  escape_roff(escaped "${help}")
  find_commands(parts "${help}")
  set(synopsis "kith ${command}")
  if(parts)
    string(APPEND synopsis " COMMAND")
  endif()
  begin_page(page kith-${command} "${summary}" "${synopsis}")
  string(APPEND page ".SH DESCRIPTION\n.nf\n${escaped}\n.fi\n")
  if(parts)
    string(APPEND page ".SH COMMANDS\n")
  endif()
  foreach(part IN LISTS parts)
    read_help(help ${command} ${part})
    escape_roff(escaped "${help}")
    escape_roff(name "kith ${command} ${part}")
    string(APPEND page ".SS ${name}\n.nf\n${escaped}\n.fi\n")
  endforeach()
  string(APPEND page ".SH SEE ALSO\n.BR kith (1)\n")
  file(WRITE ${FOLDER}/kith-${command}.1 "${page}")
endfunction()

file(GLOB old ${FOLDER}/*.1)
file(REMOVE ${FOLDER}/kith.1 ${old}) # also of commands that there are no more
read_help(help)
escape_roff(escaped "${help}")
begin_page(page kith "train, evaluate and search image-retrieval embeddings"
  "kith COMMAND")
string(APPEND page ".SH DESCRIPTION\n.nf\n${escaped}\n.fi\n.SH SEE ALSO\n")
find_commands(commands "${help}")
if(NOT commands)
  message(FATAL_ERROR "${PROGRAM} --help lists no commands:\n${help}")
endif()
foreach(command IN LISTS commands)
  string(REGEX MATCH "\n  ${command} +([^\n]+)" line "${help}")
  write_command_page(${command} "${CMAKE_MATCH_1}")
  list(APPEND pages ".BR kith\\-${command} (1)")
endforeach()
string(JOIN ",\n" pages ${pages})
string(APPEND page "${pages}
.PP
.B kith list
shows what can be named in a configuration, and
.B kith list recipes
the recipes that are installed. Programs that use the library are in
.I share/doc/kith/examples
below the folder where kith is installed.
")
file(WRITE ${FOLDER}/kith.1 "${page}")
