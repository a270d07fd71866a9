/// What a deployment would change.
package struct DeploymentPlan: Codable, Equatable, Sendable {
    package var bundle: String
    package var release: String
    package var checksum: String
    package var size: Int
    /// The deployed release; nil if there is none.
    package var current: String?
    /// The served release; `local…` for a local build, which `serve --local` prefers to the deployed release; nil if
    /// the bundle isn't served.
    package var served: String?
    /// The number of functions that all bundles together would have.
    package var functions: Int
    package var difference: ReleaseDifference
    /// Nil if the rules and indexes stay.
    package var rules: RulesPlan?

    package init(
        bundle: String, release: String, checksum: String, size: Int, current: String? = nil, served: String? = nil,
        functions: Int, difference: ReleaseDifference, rules: RulesPlan? = nil
    ) {
        self.bundle = bundle
        self.release = release
        self.checksum = checksum
        self.size = size
        self.current = current
        self.served = served
        self.functions = functions
        self.difference = difference
        self.rules = rules
    }

    package var isServedAlready: Bool { served == release }

    /// The end of a sentence that says which release is replaced.
    package var replacementText: String {
        guard let served else { return ", its first" }
        return served == current ? ", replaces \(served)" : ", replaces the local build"
    }
}

/// What a deployment would change in the security rules and the indexes.
package struct RulesPlan: Codable, Equatable, Sendable {
    /// A line of the rules that is added or removed.
    package struct Line: Codable, Equatable, Sendable {
        /// Counted from 1, in the new rules if the line is added and in the old ones if it is removed.
        package var number: Int
        package var isAdded: Bool
        package var text: String

        package init(number: Int, isAdded: Bool, text: String) {
            self.number = number
            self.isAdded = isAdded
            self.text = text
        }
    }

    package var release: String
    /// The deployed release; nil if there is none.
    package var current: String?
    package var lines: [Line]
    /// Of the Realtime Database's rules.
    package var databaseLines: [Line]
    package var addedIndexes: [String]
    package var removedIndexes: [String]
    /// What is doubtful in the rules, each with its place.
    package var warnings: [String]

    package init(
        release: String, current: String?, lines: [Line], databaseLines: [Line] = [], addedIndexes: [String],
        removedIndexes: [String], warnings: [String]
    ) {
        self.release = release
        self.current = current
        self.lines = lines
        self.databaseLines = databaseLines
        self.addedIndexes = addedIndexes
        self.removedIndexes = removedIndexes
        self.warnings = warnings
    }
}

/// The releases of all bundles and the history of deployments.
package struct ReleaseListing: Codable, Equatable, Sendable {
    package struct Bundle: Codable, Equatable, Sendable {
        package var name: String
        /// The deployed release; nil if a local build is served.
        package var current: String?
        /// The served release; `local…` for a local build; nil if the bundle isn't served.
        package var served: String?
        /// The kept releases that were ever served, the oldest first.
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
    /// In order of time.
    package var history: [ReleaseEvent]

    package init(bundles: [Bundle], history: [ReleaseEvent]) {
        self.bundles = bundles
        self.history = history
    }
}
