# kith.cdx.json: what the built files are made of (KithSbom.cmake).
set(inside nlohmann-json@${nlohmann_json_VERSION} CLI11@${CLI11_VERSION})
if(TARGET Boost::headers)
  list(APPEND inside Boost@${Boost_VERSION_STRING})
endif()
if(KITH_USE_FAISS)
  get_target_property(kind faiss TYPE)
  if(NOT kind STREQUAL "SHARED_LIBRARY")
    list(APPEND inside faiss@${faiss_VERSION})
  endif()
endif()
if(KITH_USE_GLOO)
  list(APPEND inside gloo@${KITH_GLOO_INCLUDE}/gloo/rendezvous/context.h)
endif()
list(JOIN inside "," inside)

set(files "")
foreach(target kith_program kith_commands kith kith_base kith_ops)
  if(TARGET ${target})
    list(APPEND files $<TARGET_FILE:${target}>)
    list(APPEND targets ${target})
  endif()
endforeach()
list(JOIN files "," files)

set(bill ${PROJECT_BINARY_DIR}/kith.cdx.json)
add_custom_command(OUTPUT ${bill} VERBATIM
  COMMAND ${CMAKE_COMMAND} -DFILES=${files} -DINSIDE=${inside}
    -DREADELF=${CMAKE_READELF} -DVERSION=${PROJECT_VERSION}
    -DTORCH=${Torch_VERSION} -DOUT=${bill}
    -P ${PROJECT_SOURCE_DIR}/cmake/KithSbom.cmake
  DEPENDS ${targets} ${PROJECT_SOURCE_DIR}/cmake/KithSbom.cmake)
add_custom_target(kith_bill ALL DEPENDS ${bill})
install(FILES ${bill} DESTINATION ${CMAKE_INSTALL_DOCDIR})
