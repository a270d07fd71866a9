import CFunctionsSystem

package enum CoreDumps {
    /// From now on neither the host nor a worker that it starts leaves its memory in a file when it crashes: there are
    /// secrets in it. Nor can a worker look into the host's memory and environment, which processes of one user may.
    package static func forbid() { functions_forbid_core_dumps() }
}
