-- Run last at each start: drops the users that are no longer among the inputs. They own nothing any more and may not log in.
DO $$
DECLARE
  gone name;
BEGIN
  FOR gone IN SELECT rolname FROM pg_roles WHERE shobj_description(oid, 'pg_authid') = 'mistletoe: removed' LOOP
    BEGIN
      EXECUTE format('DROP ROLE %I', gone);
    EXCEPTION WHEN dependent_objects_still_exist THEN
      RAISE WARNING 'the role % stays, without a login: %', gone, SQLERRM;
    END;
  END LOOP;
END $$;
