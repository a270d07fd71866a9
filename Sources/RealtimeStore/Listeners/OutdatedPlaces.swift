import RealtimeModel

/// The places whose listeners, those without a query, must be sent all that is there, because a staged value has
/// changed it: the commit doesn't have the value's nodes.
///
/// Used by the listeners' thread.
struct OutdatedPlaces {
    private var places: [ObjectIdentifier: (namespace: String, place: ListenerTree.Place)] = [:]

    var isEmpty: Bool { places.isEmpty }

    /// A commit has changed what a place has.
    mutating func invalidate(_ place: ListenerTree.Place, in namespace: String, at version: Int64) {
        for listener in place.listeners.values { listener.invalidate(at: version) }
        add(place, in: namespace)
    }

    mutating func add(_ place: ListenerTree.Place, in namespace: String) {
        places[ObjectIdentifier(place)] = (namespace, place)
    }

    /// Takes the listeners of one place after the other.
    mutating func takeAll() -> [(namespace: String, path: RealtimePath, listeners: [ListenerCore])] {
        defer { places = [:] }
        return places.values.map { namespace, place in
            (namespace, place.path, place.listeners.values.filter(\.isOutdated))
        }
    }
}
