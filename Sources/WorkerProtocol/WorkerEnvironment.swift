/// The environment by which the host passes inherited file descriptors and the log level to a worker.
package enum WorkerEnvironment {
    /// The variable with the number of links. Their descriptors start at ``firstDescriptor``.
    package static let linkCountVariable = "FUNCTIONS_LINKS"
    package static let firstDescriptor: Int32 = 3
    /// The variable with the lowest level that the function logs, as swift-log names it; `info` without it.
    package static let logLevelVariable = "FUNCTIONS_LOG_LEVEL"
    package static let maxLinks = 64
}
