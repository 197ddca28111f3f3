# Run by CPack before it packs: files of a package have one date, that of the
# environment's SOURCE_DATE_EPOCH, of the last commit, or 1980 where the sources
# are no checkout.
if("$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
  execute_process(COMMAND git -C ${CPACK_KITH_SOURCE_DIR} log -1 --format=%ct
    OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    set(date 315532800)
  endif()
  set(ENV{SOURCE_DATE_EPOCH} ${date})
endif()
