/// The environment by which the host passes inherited file descriptors to a worker.
package enum WorkerEnvironment {
    /// The variable with the number of links. Their descriptors start at ``firstDescriptor``.
    package static let linkCountVariable = "FUNCTIONS_LINKS"
    package static let firstDescriptor: Int32 = 3
    package static let maxLinks = 64
}
