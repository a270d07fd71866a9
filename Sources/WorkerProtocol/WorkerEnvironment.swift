/// How the host tells a bundle's process which descriptors it has inherited.
package enum WorkerEnvironment {
    /// The variable that counts the links. They are the descriptors from ``firstDescriptor`` on.
    package static let linkCountVariable = "FUNCTIONS_LINKS"
    package static let firstDescriptor: Int32 = 3
    package static let maxLinks = 64
}
