/// What a deployment would change, as a command is told it.
package struct DeploymentPlan: Codable, Equatable, Sendable {
    package var bundle: String
    package var release: String
    package var checksum: String
    package var size: Int
    /// The release that was deployed last; nil where none was.
    package var current: String?
    /// What is served: `local…` as it is built, which `serve --local` prefers to what was deployed; nil where nothing is.
    package var served: String?
    /// How many functions all bundles would have.
    package var functions: Int
    package var difference: ReleaseDifference

    package init(
        bundle: String, release: String, checksum: String, size: Int, current: String? = nil, served: String? = nil,
        functions: Int, difference: ReleaseDifference
    ) {
        self.bundle = bundle
        self.release = release
        self.checksum = checksum
        self.size = size
        self.current = current
        self.served = served
        self.functions = functions
        self.difference = difference
    }

    package var isServedAlready: Bool { served == release }

    /// What the release comes in place of, in words.
    package var place: String {
        guard let served else { return ", its first" }
        return served == current ? " in place of \(served)" : " in place of what is built"
    }
}

/// The releases of all bundles, and what happened to them.
package struct ReleaseListing: Codable, Equatable, Sendable {
    package struct Bundle: Codable, Equatable, Sendable {
        package var name: String
        /// The release that was deployed last; nil where the bundle is served as it is built.
        package var current: String?
        /// What is served: `local…` as it is built, nil where nothing is.
        package var served: String?
        /// Those that were served and are kept, the oldest first.
        package var releases: [Release]

        package init(name: String, current: String? = nil, served: String? = nil, releases: [Release]) {
            self.name = name
            self.current = current
            self.served = served
            self.releases = releases
        }
    }

    package struct Release: Codable, Equatable, Sendable {
        package var id: String
        package var created: String
        package var creator: String
        package var source: String
        package var size: Int
        package var checksum: String
        package var functions: [String]
        package var isCurrent: Bool

        package init(
            id: String, created: String, creator: String, source: String, size: Int, checksum: String,
            functions: [String], isCurrent: Bool
        ) {
            self.id = id
            self.created = created
            self.creator = creator
            self.source = source
            self.size = size
            self.checksum = checksum
            self.functions = functions
            self.isCurrent = isCurrent
        }
    }

    package var bundles: [Bundle]
    /// The latest last.
    package var history: [ReleaseEvent]

    package init(bundles: [Bundle], history: [ReleaseEvent]) {
        self.bundles = bundles
        self.history = history
    }
}
