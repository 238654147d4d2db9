"""Continue a renamed pipeline where it stopped under its old id; the order of writes is docs/adr/0110."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hakiri.catalog.port import Catalog
from hakiri.land.delta.handover import hand_over
from hakiri.land.delta.last_landing import LastLanding, last_landing
from hakiri.land.stamp import app_id
from hakiri.model.chunk import TableKey
from hakiri.model.ledger import Landing, LandingStatus
from hakiri.run.errors import AdoptionUnfit
from hakiri.run.manifest import find_pipeline
from hakiri.run.rebuild import Story, as_of, rebuild, registration, set_phase, write_story
from hakiri.run.services import Services
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.spec.read import Project


@dataclass(frozen=True, slots=True)
class Adopted:
    """A table that lands under another id from now on."""

    table: str
    """Its name in the lakehouse."""
    number: int
    """The landing that hands it over."""
    landings: int
    """How many landings it had received."""
    has_cursor: bool
    """Whether the next read goes on from a cursor."""


def adopt_tables(services: Services, project: Project, name: str, old: str) -> list[Adopted]:
    """Let the pipeline go on where the one called `old` stopped, in every table that it has landed in.

    The order of writes is docs/adr/0110. A repeat ends what was cut off, and else changes nothing. Raises
    PipelineNotFound, AdoptionUnfit, CatalogDisagrees, LandError and CatalogError.
    """
    spec = find_pipeline(project, name).spec
    if old in project.pipelines:
        reason = f"`{old}` is a pipeline of the manifest" if old != name else "they are the same pipeline"
        raise AdoptionUnfit(pipeline=name, old=old, reason=reason, advice=f"take `{old}` out of the manifest first")
    former = spec.model_copy(update={"id": old})
    as_now = replace(services, transforms=lambda _: services.transforms(spec))  # the manifest has none under the old id
    for restored in rebuild(as_now, [former]):  # a catalog that was lost knows the landings again
        if restored.error is not None:
            raise restored.error
    _require_quiet(services, spec, old)
    handovers = [one for table in spec.tables if (one := _handover(services, spec, table, old)) is not None]
    if not handovers:
        raise AdoptionUnfit(pipeline=spec.id, old=old, reason=f"`{old}` has landed in none of its tables")
    taken = {one.table.name: _carry_out(services, spec, one) for one in handovers}
    nothing = (Story(table=TableKey(spec.id, table.name)) for table in spec.tables)
    set_phase(services.catalog, spec, [taken.get(story.table.table, story) for story in nothing])
    return [_adopted(spec.landed_name(one.table), taken[one.table.name]) for one in handovers]


def _adopted(name: str, story: Story) -> Adopted:
    last = story.landings[-1]
    return Adopted(name, last.number, len(story.landings) - 1, bool(last.cursor))


@dataclass(frozen=True, slots=True)
class _Handover:
    """What one table is to be handed over with."""

    table: TableSpec
    old: TableKey
    landing: Landing
    """The landing that hands it over; its version is known once the table carries it."""


def _require_quiet(services: Services, spec: PipelineSpec, old: str) -> None:
    """Raise AdoptionUnfit where something of the old pipeline may still land."""
    catalog, now = services.catalog, services.clock.now()
    if any(state.leased_until is not None and state.leased_until > now for state in catalog.leases(old)):
        reason = f"a run of `{old}` is under way, or ended less than a lease ago"
        raise AdoptionUnfit(pipeline=spec.id, old=old, reason=reason, advice="wait for its end, and try again")
    for table in spec.tables:
        landings = catalog.landings(TableKey(old, table.name))
        number = next((one.number for one in landings if one.status is LandingStatus.RESERVED), None)
        if number is not None:
            reason = f"landing {number} of its table `{table.name}` has not ended"
            advice = f"name the pipeline `{old}` again, run `hakiri apply {old}`, and rename it after that"
            raise AdoptionUnfit(pipeline=spec.id, old=old, reason=reason, advice=advice)


def _handover(services: Services, spec: PipelineSpec, table: TableSpec, old: str) -> _Handover | None:
    """Return how to hand the table over, or how it was; None if the old pipeline never landed in it."""
    catalog, project = services.catalog, services.project
    key, before = TableKey(spec.id, table.name), TableKey(old, table.name)
    last = last_landing(services.place(spec, table).target, services.spark)
    if last is None:
        return None
    stamp = last.stamp
    if stamp.app_id == app_id(project, key):
        return _Handover(table, before, _landed(key, last))
    if stamp.app_id != app_id(project, before):
        reason = f"`{stamp.table.pipeline}` lands in its table `{spec.landed_name(table)}`, and `{old}` does not"
        raise AdoptionUnfit(pipeline=spec.id, old=old, reason=reason)
    numbers = (one.number for one in (*catalog.landings(before), *catalog.landings(key)))
    current = catalog.cursor(before)
    landing = Landing(
        key,
        max(stamp.number, *numbers) + 1,
        (),
        LandingStatus.LANDED,
        cursor=current.value if current else "",
        reason=f"taken over from `{old}`",
    )
    return _Handover(table, before, landing)


def _landed(key: TableKey, last: LastLanding) -> Landing:
    """Return the landing as the table's log has it."""
    stamp = last.stamp
    return Landing(key, stamp.number, stamp.chunks, LandingStatus.LANDED, version=last.version, cursor=stamp.cursor)


def _carry_out(services: Services, spec: PipelineSpec, one: _Handover) -> Story:
    """Record the new owner, commit the handover, and copy what the catalog knows, the cursor last (G5)."""
    catalog, landing = services.catalog, one.landing
    _record_owner(catalog, one.old, spec.id)
    if landing.version is None:
        target = services.place(spec, one.table).target
        landing = replace(landing, version=hand_over(services.project, landing, target, services.spark))
    catalog.register(registration(spec))
    _record_owner(catalog, landing.table, spec.id)
    story = _story(catalog, one.old, landing)
    if not landing.chunks:  # else it has landed on its own since, and the catalog knows everything
        _copy_schemas(catalog, one.old, landing.table)
        write_story(catalog, story)
    return story


def _record_owner(catalog: Catalog, key: TableKey, owner: str) -> None:
    before = catalog.owner(key)
    if before is None and key.pipeline == owner:
        return  # its landings tell that a pipeline owns its own table
    if before != owner and not catalog.set_owner(key, owner, before=before):
        reason = f"another pipeline is taking over `{key.table}` at the same time"
        raise AdoptionUnfit(pipeline=owner, old=key.pipeline, reason=reason, advice="try again")


def _story(catalog: Catalog, old: TableKey, landing: Landing) -> Story:
    """Return what the catalog knows of the table, under the new pipeline's id."""
    new = landing.table
    landed = [one for one in catalog.landings(old) if one.status is LandingStatus.LANDED]
    names = {key for one in landed for key in one.chunks}
    chunks = (state.chunk for state in catalog.chunks(old) if state.chunk.key in names)
    return Story(
        table=new,
        landings=(*(as_of(new, one) for one in landed), landing),
        runs={one.landing: one.runs for one in catalog.snapshots(old)},
        chunks=tuple(replace(chunk, key=replace(chunk.key, pipeline=new.pipeline)) for chunk in chunks),
    )


def _copy_schemas(catalog: Catalog, old: TableKey, new: TableKey) -> None:
    """Give the table's decisions to the new pipeline: all of them, or the last where it has decided before."""
    known = [one.schema_json for one in catalog.schemas(new)]
    decided = [one.schema_json for one in catalog.schemas(old)]
    is_begun = decided[: len(known)] == known  # also where an earlier try was cut off
    wanted = decided[len(known) :] if is_begun else [one for one in decided[-1:] if one != known[-1]]
    for after, schema_json in enumerate(wanted, start=len(known)):
        catalog.append_schema(new, schema_json, after=after)
